import Apps
import Hummingbird
import NightshiftAPI
import Operations

extension Routes {
    /// The routes that an app's process uses for itself.
    var processRoutes: [Route] {
        [
            Route(process: .get, "/v1/process/commands", query: ["executable", "app", "run", "guest"]) {
                call, process in
                let executable = try call.query.string("executable")
                let app = try call.query.string("app").map(AppID.init(rawValue:))
                let child = try call.query.integer("run", in: 1...Int64(Int32.max)).map { Int32($0) }
                let place = try processStreams.enter()
                // The connection is registered before the head is sent, so the process is known once the client has
                // received the head.
                let events = try await apps.connect(
                    process: process.id, executable: executable, app: app, run: child,
                    asGuest: try call.query.boolean("guest") ?? false)
                return try EventStream.response(to: call.request, events: events, place: place)
            },
            Route(process: .post, "/v1/process/acknowledge") { call, process in
                let request = try await decoder.decode(CommandAcknowledgement.self, from: call.request)
                try await apps.acknowledge(
                    process: process.id, channel: process.channel, command: request.command, result: request.result,
                    presentation: request.presentation)
                return Reply.empty(.noContent).response
            },
            Route(process: .post, "/v1/process/state") { call, process in
                let request = try await decoder.decode(ProcessStateChange.self, from: call.request)
                try await apps.change(process: process.id, channel: process.channel, to: request.state)
                return Reply.empty(.noContent).response
            },
            Route(process: .put, "/v1/process/snapshot") { call, process in
                let picture = try await decoder.picture(from: call.request, limit: Limits.snapshotBytes)
                try await apps.putSnapshot(process: process.id, channel: process.channel, picture)
                return Reply.empty(.noContent).response
            },
        ]
    }
}
