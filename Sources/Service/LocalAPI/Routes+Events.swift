import Hummingbird
import NightshiftAPI
import Transfers

extension Routes {
    var eventRoutes: [Route] {
        [
            Route(.get, "/v1/journal", query: ["task", "app", "since", "after", "limit"]) { call in
                let query = JournalQuery(
                    task: try call.query.integer("task", in: 1...Int64.max).map { TaskID($0) },
                    app: try call.query.string("app").map(AppID.init(rawValue:)),
                    since: try call.query.date("since"),
                    after: try call.query.integer("after", in: 0...Int64.max) ?? 0,
                    limit: try Self.limit(call.query))
                return try await Reply.page(try await service.journal(query)).response
            },
            Route(.get, "/v1/events", query: ["task", "session", "progress", "lastEventID"]) { call in
                let query = try Self.eventQuery(call)
                let place = try streams.enter()
                // The subscription begins before the head is sent, so a client that has received the head misses no
                // event.
                let events = try await service.events(query)
                return try EventStream.response(to: call.request, events: events, place: place)
            },
        ]
    }

    private static func eventQuery(_ call: Call) throws(Problem) -> EventQuery {
        EventQuery(
            tasks: try call.query.taskIDs("task"),
            session: try call.query.string("session").map(SessionID.init(rawValue:)),
            lastEventID: try lastEventID(call),
            progress: try call.query.boolean("progress") ?? true)
    }

    /// Returns the id after which an event stream continues. The header field takes precedence over the query
    /// parameter, because a browser that reconnects sends the old URL with a new field.
    private static func lastEventID(_ call: Call) throws(Problem) -> Int64? {
        let parameter = try call.query.integer("lastEventID", in: 0...Int64.max)
        guard let field = call.request.headers[.lastEventID], !field.isEmpty else { return parameter }
        return try QueryParameters.integer(field, in: 0...Int64.max, called: "field Last-Event-ID")
    }
}
