import Apps
import NightshiftAPI
import Testing

/// Tests of the sources that decide whether an app is in the foreground: the app, the user and the desktop (decision
/// 0038).
@Suite struct WindowMachineTests {
    private func launched() -> TestApp {
        var app = TestApp()
        app.launchedByUser()
        return app
    }

    @Test func `L8: An app enters the background and the foreground with its window`() {
        var app = launched()
        app.feed { $0.desktopShows(inFront: true, now: $1) }
        #expect(app.state == .active && app.taken.isEmpty)
        app.feed { $0.desktopShows(inFront: false, now: $1) }
        #expect(app.state == .background)
        app.acknowledgeAll()
        app.acknowledgeAll()
        #expect(app.state == .suspended)
        app.feed { $0.desktopShows(inFront: true, now: $1) }
        #expect(app.state == .active && app.taken.contains(.thaw))
    }

    @Test func `L8: A program without windows stays in the foreground when other windows get the focus`() {
        var app = launched()
        app.feed { $0.desktopShows(inFront: false, now: $1) }
        #expect(app.state == .active && !app.machine.isShownByDesktop)
        app.feed { $0.desktopShows(inFront: true, now: $1) }
        #expect(app.machine.isShownByDesktop)
    }

    @Test func `L8: An app that reports its own state is responsible for it until its process ends`() {
        var app = launched()
        app.feed { $0.desktopShows(inFront: true, now: $1) }
        app.feed { $0.changed(to: .background, now: $1) }
        #expect(app.state == .background)
        for isInFront in [true, false, true] { app.feed { $0.desktopShows(inFront: isInFront, now: $1) } }
        #expect(app.state == .background)
        app.feed { $0.changed(to: .active, now: $1) }
        app.feed { $0.desktopShows(inFront: false, now: $1) }
        #expect(app.state == .active)
        app.restartService(isAlive: true)
        app.feed { $0.desktopShows(inFront: false, now: $1) }
        #expect(app.state == .active, "the next service knows it")
        app.exited(.exited)
        app.launchedByUser()
        app.feed { $0.desktopShows(inFront: true, now: $1) }
        app.feed { $0.desktopShows(inFront: false, now: $1) }
        #expect(app.state == .background, "the next process has not said anything")
    }

    @Test func `L8: The user's command applies until another window gets the focus`() {
        var app = launched()
        app.feed { $0.desktopShows(inFront: true, now: $1) }
        app.feed { $0.sendToBackground(now: $1) }
        #expect(app.state == .background)
        app.feed { $0.desktopShows(inFront: false, now: $1) }
        #expect(app.state == .background)
        app.feed { $0.bringToFront(now: $1) }
        #expect(app.state == .active)
        app.feed { $0.desktopShows(inFront: false, now: $1) }
        #expect(app.state == .background)
    }

    @Test func `L8: A window neither launches an app nor stops the service from ending one`() {
        var app = TestApp()
        app.feed { $0.desktopShows(inFront: true, now: $1) }
        #expect(app.state == .notRunning && app.all.isEmpty)
        app = launched()
        app.feed { $0.quit(force: false, now: $1) }
        app.feed { $0.desktopShows(inFront: true, now: $1) }
        app.feed { $0.desktopShows(inFront: false, now: $1) }
        #expect(app.state == .active && app.taken.isEmpty)
    }

    @Test func `L8: A woken app that opens a window enters the foreground`() {
        var app = TestApp()
        app.feed { $0.launch(background: true, arguments: [], now: $1) }
        app.spawned()
        #expect(app.state == .background)
        app.feed { $0.desktopShows(inFront: true, now: $1) }
        #expect(app.state == .active)
    }
}
