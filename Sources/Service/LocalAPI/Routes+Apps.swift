import Apps
import Hummingbird
import NightshiftAPI

extension Routes {
    /// The routes for apps, used by people and by their window system.
    var appRoutes: [Route] { appListRoutes + oneAppRoutes + appActionRoutes }

    private var appListRoutes: [Route] {
        [
            Route(.get, "/v1/apps") { _ in
                try await Reply.page(await apps.list()).response
            },
            Route(.post, "/v1/apps") { call in
                let request = try await decoder.decode(InstallRequest.self, from: call.request)
                return try Reply.json(try await apps.install(request.entry)).response
            },
        ]
    }

    private var oneAppRoutes: [Route] {
        [
            Route(.get, "/v1/apps/{id}") { call in
                try Reply.json(try await apps.app(call.appID())).response
            },
            Route(.patch, "/v1/apps/{id}") { call in
                let id = try call.appID()
                let change = try await decoder.decode(AppChange.self, from: call.request)
                return try Reply.json(try await apps.change(id, change)).response
            },
            Route(.delete, "/v1/apps/{id}") { call in
                try await apps.uninstall(call.appID())
                return Reply.empty(.noContent).response
            },
            Route(.get, "/v1/apps/{id}/why") { call in
                try Reply.json(try await apps.explain(call.appID())).response
            },
            Route(.get, "/v1/apps/{id}/log", query: ["after", "limit"]) { call in
                let start = try call.query.integer("after", in: 0...Int64.max) ?? 0
                let limit = try call.query.integer("limit", in: 1...Int64.max) ?? .max
                // The app may write its output in any encoding, so the type names none.
                return try FileContent(
                    halves: try await apps.logFiles(call.appID()), type: "text/plain", from: start, limit: limit
                ).response
            },
            Route(.get, "/v1/apps/{id}/snapshot") { call in
                let path = try await apps.snapshotFile(call.appID())
                guard let bytes = try await FileContent(path: path).bytes(limit: Limits.snapshotBytes) else {
                    throw Problem.conflict("'\(path)' has more than the limit of \(Limits.snapshotBytes) bytes.")
                }
                do throws(PictureProblem) {
                    try PictureProblem.check(bytes)
                } catch {
                    throw Problem.conflict("'\(path)' is not a valid picture: \(error.sentence)")
                }
                return Reply.picture(bytes).response
            },
        ]
    }

    private var appActionRoutes: [Route] {
        [
            Route(.post, "/v1/apps/{id}/launch") { call in
                let id = try call.appID()
                let request = try await decoder.decodeIfPresent(LaunchRequest.self, from: call.request)
                return try Reply.json(try await apps.launch(id, request ?? LaunchRequest())).response
            },
            Route(.post, "/v1/apps/{id}/activate") { call in
                try Reply.json(try await apps.activate(call.appID())).response
            },
            Route(.post, "/v1/apps/{id}/background") { call in
                try Reply.json(try await apps.background(call.appID())).response
            },
            Route(.post, "/v1/apps/{id}/quit") { call in
                let id = try call.appID()
                let request = try await decoder.decodeIfPresent(QuitRequest.self, from: call.request)
                return try Reply.json(try await apps.quit(id, force: request?.force ?? false)).response
            },
            Route(.post, "/v1/apps/{id}/kill") { call in
                try Reply.json(try await apps.kill(call.appID())).response
            },
        ]
    }
}
