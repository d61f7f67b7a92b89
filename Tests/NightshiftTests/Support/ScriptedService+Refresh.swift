import Foundation
import NightshiftAPI
import TestSupport

/// The part of the service that handles background refresh.
extension ScriptedService {
    struct RefreshState: Sendable {
        /// The availability that the service sends after `hello`.
        var availability: RefreshAvailability? = .available
        /// The app's desktop entry. Nil if the app is not installed.
        var manifest: AppManifest?
        /// Every interval that the app has set.
        var intervals: [RefreshInterval] = []
        /// The pending requests.
        var pending: [ScheduledTask] = []
        var submitted: [ScheduledTask] = []
        var progress: [ScheduledTaskProgress] = []
    }

    /// Installs the app's desktop entry.
    func install(modes: Set<BackgroundMode> = [.fetch, .processing], tasks: [String] = []) {
        state.update { state in
            var manifest = AppManifest(
                id: state.hello.app, name: "App", entry: "/apps/app.desktop", command: ["/app"])
            manifest.modes = modes
            manifest.taskIdentifiers = tasks
            state.refresh.manifest = manifest
            state.hello.isInstalled = true
        }
    }

    func tell(_ availability: RefreshAvailability) {
        state.update { state in
            state.refresh.availability = availability
            let frame = Self.frame("refresh", id: nil, RefreshNotice(availability: availability))
            for channel in state.channels { channel.send(frame) }
        }
    }

    /// Wakes the app for a fetch or a task.
    ///
    /// - Parameter number: The number of the command. The wake has the same number if `wake` is nil.
    func wake(_ number: Int64, _ source: WakeSource, _ key: String = "", wake: Int64? = nil, payload: Data? = nil) {
        var wakeCommand = ProcessCommand(number: number, action: .handleWake)
        wakeCommand.source = source
        wakeCommand.key = key
        wakeCommand.through = wake ?? number
        wakeCommand.payload = payload
        command(wakeCommand)
    }

    func expire(_ number: Int64, _ source: WakeSource, _ key: String = "", wake: Int64) {
        var expiration = ProcessCommand(number: number, action: .expireWake)
        expiration.source = source
        expiration.key = key
        expiration.through = wake
        command(expiration)
    }

    /// Answers a request about refresh. Returns nil for other requests.
    func refresh(_ parts: [String], _ request: SocketServer.Request) throws -> SocketServer.Reply? {
        if parts.starts(with: ["v1", "apps"]), request.method == "GET" {
            return try Self.json(
                state.read { state in
                    var app = AppStatus(
                        id: state.hello.app, name: "App", state: .active,
                        background: BackgroundStatus(policy: BackgroundPolicy(.opportunistic), policySource: .device))
                    app.manifest = state.refresh.manifest
                    return app
                })
        }
        if parts == ["v1", "process", "refresh"] {
            let wish = try JSON.decode(RefreshRequest.self, from: request.body)
            state.update { $0.refresh.intervals.append(wish.interval) }
            return .json(204, Data())
        }
        guard parts.starts(with: ["v1", "process", "scheduled-tasks"]) else { return nil }
        let identifier = parts.dropFirst(3).first
        switch request.method {
        case "GET": return try Self.json(ScheduledTaskList(tasks: state.read { $0.refresh.pending }))
        case "POST":
            let task = try JSON.decode(ScheduledTask.self, from: request.body)
            state.update { state in
                state.refresh.submitted.append(task)
                state.refresh.pending.removeAll { $0.identifier == task.identifier }
                state.refresh.pending.append(task)
            }
        case "DELETE":
            state.update { state in
                state.refresh.pending.removeAll { identifier == nil || $0.identifier == identifier }
            }
        case "PATCH":
            let progress = try JSON.decode(ScheduledTaskProgress.self, from: request.body)
            state.update { $0.refresh.progress.append(progress) }
        default: throw Problem.notFound(request.path)
        }
        return .json(204, Data())
    }
}
