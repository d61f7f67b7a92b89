import Foundation
import NightshiftAPI

/// The lines of `app show`, `app why` and `app install`, and of commands that change an app.
struct AppReport {
    var times: TimeText
    var style: Style

    func lines(showing app: AppStatus) -> [String] {
        var facts = Facts()
        facts.add("state", state(app))
        facts.add("since", app.stateSince.map { times.both($0) })
        facts.add("process", process(app))
        facts.add("force-quit", app.isForceQuit ? "yes: it is not launched until you launch it" : nil)
        for wake in app.wakes { facts.add(wake.deadline == nil ? "to be woken" : "woken", self.wake(wake)) }
        facts.add("last exit", app.lastExit.map { exit($0) })
        if app.faults > 0 { facts.add("crashes", style.bad("\(app.faults) in a row")) }
        facts.add("launches", pause(app.launchesPausedUntil, "again"))
        facts.add("transfers", pause(app.startsPausedUntil, "new ones start"))
        facts.add(
            "sessions",
            app.sessions.isEmpty ? nil : app.sessions.map { TerminalText.escaped($0) }.joined(separator: ", "))
        add(app.background, to: &facts)
        facts.add("snapshot", app.snapshotTakenAt.map { times.both($0) })
        if let manifest = app.manifest {
            facts.add("entry", TerminalText.escaped(manifest.entry))
            facts.add("command", AppText.command(manifest.command))
            facts.add("wake command", manifest.wakeCommand.map { AppText.command($0) })
            facts.add("directory", manifest.directory.map { TerminalText.escaped($0) })
            facts.add("modes", AppText.modes(manifest.modes))
            facts.add("wake limit", QuantityText.duration(manifest.wakeLimit))
            facts.add("log limit", QuantityText.size(manifest.logLimit))
            facts.add("file locks", manifest.fileLocks == .terminate ? "the app is ended if it keeps one" : nil)
            facts.add("picture file", manifest.snapshot.map { TerminalText.escaped($0) })
            facts.add("interval", manifest.fetchInterval.map { RefreshText.interval($0) })
            facts.add(
                "task ids",
                manifest.taskIdentifiers.isEmpty
                    ? nil : manifest.taskIdentifiers.map { TerminalText.escaped($0) }.joined(separator: ", "))
        } else {
            facts.add("entry", "none: the service does not launch or suspend it")
        }
        return [title(app)] + facts.lines + stints(app.background)
    }

    private func add(_ background: BackgroundStatus, to facts: inout Facts) {
        facts.add("policy", AppText.policy(background))
        facts.add(
            "time left",
            background.remaining.map {
                QuantityText.duration($0)
                    + (background.standsStill ? ", paused until the next maintenance window" : "")
            })
        for task in background.tasks {
            facts.add("working on", "\(TerminalText.escaped(task.name)), since \(times.both(task.since))")
        }
    }

    /// Returns lines about the last background runs, their work, and whether they kept the device awake.
    private func stints(_ background: BackgroundStatus) -> [String] {
        guard !background.stints.isEmpty else { return [] }
        return ["Background runs:"]
            + background.stints.suffix(Self.mostBackgroundRuns).map { backgroundRun in
                let names =
                    backgroundRun.tasks.map { TerminalText.escaped($0) } + backgroundRun.wakes.map(\.wording.short)
                var words = "  \(times.absolute(backgroundRun.began))  \(QuantityText.duration(backgroundRun.seconds))"
                if backgroundRun.windows > 0 {
                    words += " in \(backgroundRun.windows) maintenance window\(backgroundRun.windows == 1 ? "" : "s")"
                }
                if backgroundRun.heldAwake { words += ", device kept awake" }
                if !names.isEmpty { words += ": " + names.joined(separator: ", ") }
                return words + ". " + (backgroundRun.end?.sentence ?? "It continues.")
            }
    }

    private static let mostBackgroundRuns = 10

    func lines(explaining explanation: AppExplanation) -> [String] {
        let app = explanation.app
        var lines = [
            title(app), "  \(app.state.name): \(times.words(explanation.sentence))",
        ]
        var facts = Facts()
        facts.add("since", app.stateSince.map { times.both($0) })
        facts.add("ended by", explanation.endedBy.map { times.words($0) })
        for wake in app.wakes { facts.add(wake.deadline == nil ? "to be woken" : "woken", self.wake(wake)) }
        facts.add("launches", pause(app.launchesPausedUntil, "again"))
        facts.add("transfers", pause(app.startsPausedUntil, "new ones start"))
        facts.add("last exit", app.lastExit.map { exit($0) })
        lines += facts.lines
        if !explanation.history.isEmpty {
            lines.append("What happened:")
            lines += explanation.history.suffix(10).map { entry in
                "  \(times.absolute(entry.time))  \(entry.decision.sentence)"
                    + (entry.detail.map { " (\(TerminalText.escaped($0)))" } ?? "")
            }
        }
        return lines
    }

    func lines(installed app: AppStatus) -> [String] {
        var lines = [AppText.id(app.id) + ": installed" + (AppText.name(app).map { " as \($0)" } ?? "")]
        if let manifest = app.manifest {
            lines.append(
                manifest.modes.isEmpty
                    ? "Its desktop entry declares no background modes, so it is not launched in the background. "
                        + "Add X-Nightshift-BackgroundModes=transfer; to let its transfers wake it."
                    : "It may be launched in the background for: " + AppText.modes(manifest.modes))
        }
        return lines
    }

    /// Returns lines about a program that the service cannot find.
    func warnings(installed app: AppStatus) -> [String] {
        guard let sentence = app.missingProgram else { return [] }
        return [
            "nightshift: warning: \(TerminalText.escaped(sentence))",
            "Put the program into one of these folders, or write its absolute path into the entry. The service keeps the "
                + "PATH of the command that started it. To use yours, run: nightshift service stop; nightshift service start",
        ]
    }

    /// Returns a line such as "org.example.Photos: active, process 4711".
    func line(changed app: AppStatus) -> String {
        AppText.id(app.id) + ": " + app.state.name + (app.processID.map { ", process \($0)" } ?? "")
            + (app.isForceQuit ? ", not launched until you launch it" : "")
    }

    private func title(_ app: AppStatus) -> String {
        style.strong(AppText.id(app.id) + (AppText.name(app).map { ": \($0)" } ?? ""))
    }

    private func state(_ app: AppStatus) -> String {
        let words = app.state.name
        switch app.state {
        case .active: return style.good(words)
        case .notRunning where app.faults > 0: return style.bad(words)
        case .notRunning, .inactive, .background, .suspended: return words
        }
    }

    private func process(_ app: AppStatus) -> String? {
        app.processID.map { id in
            String(id)
                + (app.isManaged ? ", launched by the service" : ", not launched by the service, so never suspended")
                + (app.isConnected ? "" : ", not connected to the service")
        }
    }

    private func wake(_ wake: WakeStatus) -> String {
        AppText.wake(wake) + (wake.deadline.map { ", must complete by \(times.both($0))" } ?? "")
    }

    private func exit(_ exit: AppExit) -> String {
        let text = "\(times.both(exit.time)): \(AppText.exit(exit))"
        return exit.cause.isFault ? style.bad(text) : text
    }

    /// Returns text such as "paused, again at 2026-11-21 12:01:04 (in 1 min 4 s)", or nil if the time has passed.
    private func pause(_ until: Date?, _ verb: String) -> String? {
        until.flatMap { $0 > times.now ? style.warning("paused, \(verb) at \(times.both($0))") : nil }
    }
}
