import Foundation
import HTTPTypes
import NightshiftAPI
import NightshiftClient
import TestSupport
import Testing

@testable import LocalAPI

/// Tests that clients send only requests that the service supports. They compare `NightshiftClient/API` with the
/// routes.
@Suite struct ClientEndpointTests {
    /// A request as a client creates it, and as it is sent.
    private struct Sample {
        var method = "GET"
        var path: String
        /// The request; nil for a stream.
        var request: EncodedRequest?
        var line: String
        var body: String?

        init<Answer>(_ endpoint: Endpoint<Answer>, _ line: String, body: String? = nil) throws {
            let request = try endpoint.encoded()
            (method, path) = (request.method.rawValue, request.path)
            self.request = request
            self.line = line
            self.body = body
        }

        init(_ source: EventSource, _ line: String) {
            path = source.path
            self.line = line
        }
    }

    private static var samples: [Sample] {
        get throws {
            try serviceSamples + taskSamples + appSamples + deviceSamples + refreshSamples + locationSamples
                + pushSamples + notificationSamples + processSamples + sessionSamples + streams
        }
    }

    private static var serviceSamples: [Sample] {
        get throws {
            [
                try Sample(.status, "GET /v1/status"),
                try Sample(.settings, "GET /v1/settings"),
                try Sample(.sessions, "GET /v1/sessions"),
                try Sample(
                    .changeSettings(ServiceSettings(rateLimit: 5)), "PATCH /v1/settings", body: #"{"rateLimit":5}"#),
                try Sample(.shutdown, "POST /v1/shutdown"),
                try Sample(.journal(after: 0), "GET /v1/journal?after=0&limit=1000"),
                try Sample(
                    .journal(
                        after: 7, task: TaskID(3), app: AppID(rawValue: "/bin/a b"),
                        since: Date(timeIntervalSince1970: 0)),
                    "GET /v1/journal?after=7&limit=1000&task=3&app=%2Fbin%2Fa%20b&since=1970-01-01T00%3A00%3A00.000Z"),
            ]
        }
    }

    private static var taskSamples: [Sample] {
        get throws {
            let id = TaskID(12)
            return [
                try Sample(.enqueue(EnqueueRequest(tasks: [])), "POST /v1/tasks", body: #"{"tasks":[]}"#),
                try Sample(.tasks(TaskFilter()), "GET /v1/tasks?limit=1000"),
                try Sample(
                    .tasks(
                        TaskFilter(
                            tasks: [TaskID(1), TaskID(2)], states: [.waiting, .running],
                            session: SessionID(rawValue: "org.example.A:a&b")), after: id),
                    "GET /v1/tasks?task=1,2&state=waiting,running&session=org.example.A%3Aa%26b&after=12&limit=1000"),
                try Sample(.task(id), "GET /v1/tasks/12"),
                try Sample(.changeTask(id, TaskChange(priority: 1)), "PATCH /v1/tasks/12", body: #"{"priority":1}"#),
                try Sample(.suspend(id), "POST /v1/tasks/12/suspend"),
                try Sample(.resume(id), "POST /v1/tasks/12/resume"),
                try Sample(
                    .cancel(id, CancelRequest(producingResumeData: true)), "POST /v1/tasks/12/cancel",
                    body: #"{"producingResumeData":true}"#),
                try Sample(
                    .retarget(id, RetargetRequest(url: "https://example.org/")), "POST /v1/tasks/12/retarget",
                    body: #"{"url":"https://example.org/"}"#),
                try Sample(.why(id), "GET /v1/tasks/12/why"),
                try Sample(.content(of: id), "GET /v1/tasks/12/content"),
                try Sample(
                    .act(TaskActionRequest(.remove, [id])), "POST /v1/actions",
                    body: #"{"action":"remove","tasks":[12]}"#),
                try Sample(.retry(RetryRequest(tasks: [id])), "POST /v1/retry", body: #"{"tasks":[12]}"#),
            ]
        }
    }

    private static var appSamples: [Sample] {
        get throws {
            let id = AppID(rawValue: "/usr/bin/x")
            return [
                try Sample(.apps, "GET /v1/apps"),
                try Sample(.install(InstallRequest(entry: "/e")), "POST /v1/apps", body: #"{"entry":"/e"}"#),
                try Sample(.app(id), "GET /v1/apps/%2Fusr%2Fbin%2Fx"),
                try Sample(
                    .changeApp(id, AppChange(backgroundPolicy: "default")), "PATCH /v1/apps/%2Fusr%2Fbin%2Fx",
                    body: #"{"backgroundPolicy":"default"}"#),
                try Sample(.uninstall(id), "DELETE /v1/apps/%2Fusr%2Fbin%2Fx"),
                try Sample(.why(id), "GET /v1/apps/%2Fusr%2Fbin%2Fx/why"),
                try Sample(
                    .log(of: id, after: 5, limit: 6), "GET /v1/apps/%2Fusr%2Fbin%2Fx/log?after=5&limit=6"),
                try Sample(.snapshot(of: id), "GET /v1/apps/%2Fusr%2Fbin%2Fx/snapshot"),
                try Sample(
                    .launch(id, LaunchRequest(background: true)), "POST /v1/apps/%2Fusr%2Fbin%2Fx/launch",
                    body: #"{"background":true}"#),
                try Sample(.activate(id), "POST /v1/apps/%2Fusr%2Fbin%2Fx/activate"),
                try Sample(.sendToBackground(id), "POST /v1/apps/%2Fusr%2Fbin%2Fx/background"),
                try Sample(.quit(id, QuitRequest(force: nil)), "POST /v1/apps/%2Fusr%2Fbin%2Fx/quit", body: "{}"),
                try Sample(.kill(id), "POST /v1/apps/%2Fusr%2Fbin%2Fx/kill"),
            ]
        }
    }

    private static var deviceSamples: [Sample] {
        get throws {
            [
                try Sample(.device, "GET /v1/device"),
                try Sample(
                    .changeDevice(DeviceChange(expirationLead: 5)), "PATCH /v1/device", body: #"{"expirationLead":5}"#),
                try Sample(.doze(DozeRequest(phase: .window)), "POST /v1/device/doze", body: #"{"phase":"window"}"#),
            ]
        }
    }

    private static var refreshSamples: [Sample] {
        get throws {
            let id = AppID(rawValue: "/usr/bin/x")
            let path = "/v1/refresh/%2Fusr%2Fbin%2Fx"
            let task = ScheduledTask(identifier: "a/b", kind: .refresh)
            let words = #"{"identifier":"a/b","kind":"refresh"}"#
            return [
                try Sample(.refresh, "GET /v1/refresh"),
                try Sample(.changeRefresh(RefreshChange(isOn: false)), "PATCH /v1/refresh", body: #"{"isOn":false}"#),
                try Sample(.forgetLearned, "POST /v1/forget-use"),
                try Sample(.refresh(of: id), "GET \(path)"),
                try Sample(
                    .changeRefresh(of: id, AppRefreshChange(dailyCap: -1)), "PATCH \(path)", body: #"{"dailyCap":-1}"#),
                try Sample(.fetch(id), "POST \(path)/fetch"),
                try Sample(.forgetLearned(of: id), "POST \(path)/forget"),
                try Sample(.expire(id, ExpirationRequest()), "POST \(path)/expire", body: "{}"),
                try Sample(.scheduledTasks(of: id), "GET \(path)/scheduled-tasks"),
                try Sample(.submit(task, for: id), "POST \(path)/scheduled-tasks", body: words),
                try Sample(.cancelScheduledTask("a/b", of: id), "DELETE \(path)/scheduled-tasks/a%2Fb"),
                try Sample(.setInterval(.seconds(900)), "PUT /v1/process/refresh", body: #"{"interval":"900"}"#),
                try Sample(.scheduledTasks, "GET /v1/process/scheduled-tasks"),
                try Sample(.submit(task), "POST /v1/process/scheduled-tasks", body: words),
                try Sample(.cancelScheduledTask(nil), "DELETE /v1/process/scheduled-tasks"),
                try Sample(.cancelScheduledTask("a/b"), "DELETE /v1/process/scheduled-tasks/a%2Fb"),
                try Sample(
                    .report(ScheduledTaskProgress(completedUnits: 3), ofTask: "a/b"),
                    "PATCH /v1/process/scheduled-tasks/a%2Fb", body: #"{"completedUnits":3}"#),
            ]
        }
    }

    private static var locationSamples: [Sample] {
        get throws {
            let id = AppID(rawValue: "/usr/bin/x")
            let path = "/v1/location/%2Fusr%2Fbin%2Fx"
            let own = "/v1/process/location"
            let center = try #require(Coordinate(latitude: 52.5, longitude: -13.25))
            let region = MonitoredRegion(identifier: "a/b", center: center, radius: 150, notifiesOnExit: false)
            let words =
                #"{"center":{"latitude":52.5,"longitude":-13.25},"identifier":"a/b","notifiesOnEntry":true,"#
                + #""notifiesOnExit":false,"radius":150}"#
            return [
                try Sample(.location, "GET /v1/location"),
                try Sample(.location(of: id), "GET \(path)"),
                try Sample(
                    .changeLocation(of: id, AppLocationChange(permission: .whenInUse)), "PATCH \(path)",
                    body: #"{"permission":"whenInUse"}"#),
                try Sample(.add(region, for: id), "PUT \(path)/regions/a%2Fb", body: words),
                try Sample(.removeRegion("a/b", of: id), "DELETE \(path)/regions/a%2Fb"),
                try Sample(.processLocation, "GET \(own)"),
                try Sample(
                    .requestLocation(LocationAuthorizationRequest(permission: .always)), "POST \(own)/authorization",
                    body: #"{"permission":"always"}"#),
                try Sample(.monitor(region), "PUT \(own)/regions/a%2Fb", body: words),
                try Sample(.stopMonitoring("a/b"), "DELETE \(own)/regions/a%2Fb"),
                try Sample(.monitorSignificantChanges, "PUT \(own)/significant-changes"),
                try Sample(.stopMonitoringSignificantChanges, "DELETE \(own)/significant-changes"),
            ]
        }
    }

    private static var pushSamples: [Sample] {
        get throws {
            let id = AppID(rawValue: "/usr/bin/x")
            let path = "/v1/push/%2Fusr%2Fbin%2Fx"
            return [
                try Sample(.push, "GET /v1/push"),
                try Sample(
                    .enrol(PushEnrolmentRequest(url: "nightshift-push://h:1/c")), "POST /v1/push-enrolment",
                    body: #"{"url":"nightshift-push://h:1/c"}"#),
                try Sample(.leavePush, "DELETE /v1/push-enrolment"),
                try Sample(.push(of: id), "GET \(path)"),
                try Sample(
                    .changePush(of: id, AppPushChange(alerts: .denied)), "PATCH \(path)",
                    body: #"{"alerts":"denied"}"#),
                try Sample(.registerForPush(id), "PUT \(path)/registration"),
                try Sample(.unregisterFromPush(id), "DELETE \(path)/registration"),
                try Sample(.registerForPush, "PUT /v1/process/push"),
                try Sample(.unregisterFromPush, "DELETE /v1/process/push"),
            ]
        }
    }

    private static var notificationSamples: [Sample] {
        get throws {
            let path = "/v1/process/notifications"
            let request = NotificationRequest(
                notification: AppNotification(identifier: "a/b", date: Date(timeIntervalSince1970: 0)), delay: 5)
            let words = String(decoding: try JSON.encode(request), as: UTF8.self)
            return [
                try Sample(.notifications, "GET \(path)"),
                try Sample(.add(request), "POST \(path)", body: words),
                try Sample(.removeNotification(nil), "DELETE \(path)"),
                try Sample(.removeNotification("a/b"), "DELETE \(path)/a%2Fb"),
                try Sample(
                    .requestAuthorization(NotificationAuthorizationRequest(isProvisional: true)),
                    "POST /v1/process/notification-authorization", body: #"{"isProvisional":true}"#),
                try Sample(
                    .setCategories(NotificationCategories(categories: [])), "PUT /v1/process/notification-categories",
                    body: #"{"categories":[]}"#),
                try Sample(.setBadge(BadgeChange(count: 3)), "PUT /v1/process/badge", body: #"{"count":3}"#),
            ]
        }
    }

    private static var processSamples: [Sample] {
        get throws {
            [
                try Sample(
                    .acknowledge(CommandAcknowledgement(command: 4)), "POST /v1/process/acknowledge",
                    body: #"{"command":4}"#),
                try Sample(
                    .report(ProcessStateChange(state: .active)), "POST /v1/process/state", body: #"{"state":"active"}"#),
                try Sample(.putSnapshot(Data("PNG".utf8)), "PUT /v1/process/snapshot", body: "PNG"),
                try Sample(
                    .beginBackgroundTask(BackgroundTaskRequest(number: 9, name: "n")),
                    "POST /v1/process/background-tasks", body: #"{"name":"n","number":9}"#),
                try Sample(.endBackgroundTask(9), "DELETE /v1/process/background-tasks/9"),
            ]
        }
    }

    private static var sessionSamples: [Sample] {
        get throws {
            let settings = String(decoding: try JSON.encode(SessionSettings()), as: UTF8.self)
            return [
                try Sample(.attach("a/b", SessionSettings()), "PUT /v1/process/sessions/a%2Fb", body: settings),
                try Sample(.tasks(inSession: "a"), "GET /v1/process/sessions/a/tasks?limit=1000"),
                try Sample(
                    .tasks(inSession: "a", after: TaskID(8)), "GET /v1/process/sessions/a/tasks?after=8&limit=1000"),
                try Sample(
                    .enqueue(SessionEnqueueRequest(tasks: []), inSession: "a"), "POST /v1/process/sessions/a/tasks",
                    body: #"{"tasks":[]}"#),
                try Sample(
                    .acknowledge(MessageAcknowledgement(messages: [1]), inSession: "a"),
                    "POST /v1/process/sessions/a/acknowledge", body: #"{"messages":[1]}"#),
                try Sample(
                    .answer(MessageAnswer(message: 1, disposition: .cancel), inSession: "a"),
                    "POST /v1/process/sessions/a/answers", body: #"{"disposition":"cancel","message":1}"#),
            ]
        }
    }

    private static let streams = [
        Sample(.events(progress: false), "GET /v1/events?progress=false"),
        Sample(.events(progress: true, tasks: [TaskID(1), TaskID(2)]), "GET /v1/events?progress=true&task=1,2"),
        Sample(.commands(executable: "/a b"), "GET /v1/process/commands?executable=%2Fa%20b"),
        Sample(
            .commands(executable: "x", app: "org.example.A", isGuest: true),
            "GET /v1/process/commands?executable=x&app=org.example.A&guest=true"),
        Sample(.commands(executable: "x", run: 5), "GET /v1/process/commands?executable=x&run=5"),
        Sample(.messages(inSession: "a"), "GET /v1/process/sessions/a/messages"),
        Sample(
            .locationUpdates(LocationUpdateRequest(accuracy: 12.34, distance: 1e9, isOnce: true)),
            "GET /v1/process/location/updates?accuracy=12.4&distance=20000000.0&once=true"),
        Sample(
            .locationUpdates(LocationUpdateRequest(accuracy: -1)),
            "GET /v1/process/location/updates?accuracy=0.0&distance=0.0"),
    ]

    /// The routes that no client of this project uses. They are for people, other programs and browsers.
    private static let unused: Set<String> = [
        "GET /v1/openapi.json", "GET /v1/sessions/{id}", "PUT /v1/sessions/{id}",
        "DELETE /v1/sessions/{id}", "DELETE /v1/tasks/{id}", "POST /v1/tasks/{id}/retry",
        "DELETE /v1/process/sessions/{identifier}",
    ]

    private func routes() throws -> [Route] {
        try Routes(makeService().operations, device: TestDevice().access, stop: {}).all
    }

    @Test func `The client sends each request exactly as the handwritten sample`() throws {
        for sample in try Self.samples {
            #expect("\(sample.method) \(sample.path)" == sample.line)
            guard let request = sample.request else { continue }
            #expect(request.body.map { String(decoding: $0, as: UTF8.self) } == sample.body, "\(sample.line)")
            #expect(request.contentType == (sample.body == "PNG" ? "image/png" : "application/json"))
        }
    }

    @Test func `Each request of the client matches one route and its allowed parameters`() throws {
        let routes = try routes()
        var asked: Set<String> = []
        for sample in try Self.samples {
            let parts = sample.path.split(separator: "?", maxSplits: 1)
            let matching = routes.filter { $0.method.rawValue == sample.method && $0.matches(String(parts[0])) }
            #expect(matching.count == 1, "\(sample.line)")
            for route in matching {
                asked.insert("\(route.method.rawValue) \(route.path)")
                _ = try QueryParameters(parts.count > 1 ? String(parts[1]) : nil, allowing: route.query)
            }
        }
        #expect(asked.union(Self.unused) == Set(routes.map { "\($0.method.rawValue) \($0.path)" }))
        #expect(asked.isDisjoint(with: Self.unused))
    }

    @Test(arguments: 1...20) func `The client encodes any name as one path segment and as one query value`(seed: Int)
        throws
    {
        var random = SplitMix64(seed: UInt64(seed))
        let characters = Array("a/?#&=%+,;: ~.-_é\u{1F980}\n\"'[]")
        for _ in 0..<50 {
            let length = Int.random(in: 1...12, using: &random)
            let name = String((0..<length).map { _ in characters[Int.random(in: characters.indices, using: &random)] })
            let path = Endpoint.app(AppID(rawValue: name)).path
            #expect(path.hasPrefix("/v1/apps/"))
            #expect(path.split(separator: "/").count == 3, "seed \(seed): \(name)")
            #expect(path.dropFirst("/v1/apps/".count).removingPercentEncoding == name, "seed \(seed): \(name)")
            #expect(path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"?#\"".utf8.contains($0) }, "seed \(seed)")
            let query = Endpoint.journal(after: 1, app: AppID(rawValue: name)).path.split(separator: "?")[1]
            let parameters = try QueryParameters(String(query), allowing: ["after", "limit", "app"])
            #expect(try parameters.string("app") == name, "seed \(seed): \(name)")
        }
    }
}
