import Foundation
import NightshiftAPI

@testable import CLI

/// Apps with fixed times, like ``Samples``.
enum AppSamples {
    static let id = AppID(rawValue: "org.example.Photos")

    private static var manifest: AppManifest {
        var manifest = AppManifest(
            id: id, name: "Photos", entry: "/home/ada/.local/share/applications/org.example.Photos.desktop",
            command: ["/usr/bin/photos", "--library", "/home/ada/My Pictures"])
        manifest.modes = [.transfer, .processing]
        return manifest
    }

    static let background = BackgroundStatus(policy: .opportunistic, policySource: .device)

    static var active: AppStatus {
        var app = AppStatus(id: id, name: "Photos", state: .active, background: background)
        app.manifest = manifest
        app.stateSince = Samples.ago(240)
        app.processID = 4711
        app.isManaged = true
        app.isConnected = true
        app.sessions = ["photos", "albums"]
        return app
    }

    /// A suspended app that is about to be woken.
    static var suspended: AppStatus {
        var app = active
        app.state = .suspended
        app.wakes = [
            WakeStatus(reason: .sessionEvents, session: "photos", deadline: Samples.now.addingTimeInterval(28)),
            WakeStatus(reason: .challenge, session: "albums"),
        ]
        app.snapshotTakenAt = Samples.ago(200)
        app.startsPausedUntil = Samples.now.addingTimeInterval(120)
        return app
    }

    /// An app that has crashed repeatedly.
    static var faulty: AppStatus {
        var app = AppStatus(
            id: AppID(rawValue: "org.example.Faulty"), name: "Faulty", state: .notRunning, background: background)
        app.manifest = manifest
        app.manifest?.wakeCommand = ["sh", "-c", "sync 'it'"]
        app.manifest?.directory = "/srv/faulty"
        app.manifest?.snapshot = "/srv/faulty/picture.png"
        app.manifest?.modes = []
        app.stateSince = Samples.ago(12)
        app.faults = 3
        app.launchesPausedUntil = Samples.now.addingTimeInterval(64)
        app.lastExit = AppExit(time: Samples.ago(12), cause: .signalled, signal: 11)
        return app
    }

    static var forceQuit: AppStatus {
        var app = active
        app.state = .notRunning
        app.processID = nil
        app.isForceQuit = true
        app.lastExit = AppExit(time: Samples.ago(60), cause: .forceQuit)
        return app
    }

    /// A program that the user has started. Its name contains control characters.
    static var program: AppStatus {
        var app = AppStatus(
            id: AppID(rawValue: "/home/ada/build/\u{1b}[2Jsync"), name: "\u{202e}cnys", state: .background,
            background: background)
        app.processID = 99
        app.sessions = ["a\u{7}b"]
        return app
    }

    /// An app in the background that doze has paused, with earlier background runs.
    static var dozing: AppStatus {
        var app = active
        app.state = .background
        app.background.policy = BackgroundPolicy(.opportunistic, seconds: 30)
        app.background.policySource = .app
        app.background.remaining = 21.5
        app.background.standsStill = true
        app.background.tasks = [BackgroundTaskStatus(name: "Saving the \u{7}drawing", since: Samples.ago(90))]
        var held = BackgroundRun(began: Samples.ago(7_200))
        held.ended = Samples.ago(6_800)
        held.seconds = 400
        held.heldAwake = true
        held.tasks = ["Exporting"]
        held.end = .suspended
        var woken = BackgroundRun(began: Samples.ago(3_600))
        woken.seconds = 8.5
        woken.windows = 2
        woken.tasks = ["Saving the drawing"]
        woken.wakes = [.sessionEvents]
        app.background.stints = [held, woken]
        return app
    }

    static let all = [active, suspended, faulty, forceQuit, program]
}
