import Foundation
import NightshiftAPI

/// Samples of apps and their processes.
extension Sample {
    static var appRequests: [Sample] {
        get throws {
            let task = SessionTaskRequest(taskIdentifier: 1, request: TaskRequest(url: "https://a/"))
            var fullTask = task
            fullTask.clientData = "d"
            fullTask.asksBeforeBeginning = true
            fullTask.sourceDescriptor = 3
            let answer = MessageAnswer(message: 1, disposition: .useCredential)
            var fullAnswer = answer
            fullAnswer.credential = Credential(user: "a", password: "b")
            fullAnswer.clientCertificate = "/c"
            fullAnswer.clientKey = "/k"
            fullAnswer.request = TaskRequest(url: "https://a/")
            fullAnswer.clientData = "d"
            let acknowledgement = MessageAcknowledgement(messages: [1])
            var fullCommand = CommandAcknowledgement(command: 1, result: .noData)
            fullCommand.presentation = 16
            return [
                try Sample(InstallRequest(entry: "/e"), least: InstallRequest(entry: "/e"), isRequest: true),
                try Sample(
                    LaunchRequest(background: true, arguments: ["a"]), least: LaunchRequest(), isRequest: true),
                try Sample(QuitRequest(force: true), least: QuitRequest(), isRequest: true),
                try Sample(fullCommand, least: CommandAcknowledgement(command: 1), isRequest: true),
                try Sample(
                    ProcessStateChange(state: .active), least: ProcessStateChange(state: .background), isRequest: true),
                try Sample(
                    SessionEnqueueRequest(tasks: [fullTask]), least: SessionEnqueueRequest(tasks: [task]),
                    isRequest: true),
                try Sample(fullTask, least: task, isRequest: true),
                try Sample(acknowledgement, least: acknowledgement, isRequest: true),
                try Sample(fullAnswer, least: answer, isRequest: true),
            ]
        }
    }

    static var appAnswers: [Sample] {
        get throws {
            let id = AppID(rawValue: "org.example.Photos")
            let leastStatus = AppStatus(id: id, name: "Photos", state: .notRunning, background: leastBackground)
            let status = app
            let entry = JournalEntry(id: 1, time: date, decision: .appLaunched, app: id)
            return [
                try Sample(manifest, least: AppManifest(id: id, name: "n", entry: "/e", command: ["c"])),
                try Sample(status, least: leastStatus),
                try Sample(status.wakes[0], least: WakeStatus(reason: .fetch)),
                try Sample(
                    AppExit(time: date, cause: .failed, status: 1, signal: 2, detail: "d"),
                    least: AppExit(time: date, cause: .exited)),
                try Sample(
                    AppList(apps: [status], unreadable: [UnreadableApp(id: id, reason: "no JSON")]),
                    least: AppList(apps: [])),
                try Sample(UnreadableApp(id: id, reason: "no JSON"), least: UnreadableApp(id: id, reason: "no JSON")),
                try Sample(
                    AppExplanation(app: status, sentence: "s", endedBy: "e", history: [entry]),
                    least: AppExplanation(app: leastStatus, sentence: "s", endedBy: nil, history: [])),
            ]
        }
    }

    static var processAnswers: [Sample] {
        get throws {
            let id = AppID(rawValue: "/usr/bin/photos")
            let hello = ProcessHello(app: id, isInstalled: false, isManaged: false, state: .active)
            let leastCommand = ProcessCommand(number: 1, action: .snapshot)
            var command = ProcessCommand(number: 1, action: .handleEvents)
            command.state = .background
            command.session = "s"
            command.through = 3
            command.source = .region
            command.key = "k"
            command.payload = Data("p".utf8)
            command.limit = 30
            let attachment = SessionAttachment(session: SessionID(app: id, identifier: "s"), nextTaskIdentifier: 1)
            var task = SessionTask(task: leastStatus, clientData: "d", resumedAt: 1)
            task.cookies = [SetCookie(url: "https://example.org/a", value: "a=1")]
            let leastTask = SessionTask(task: leastStatus, clientData: nil, resumedAt: nil)
            let leastChallenge = Challenge(method: .basic, host: "a", port: 443, scheme: "https")
            var challenge = leastChallenge
            challenge.realm = "r"
            challenge.certificates = ["YQ=="]
            challenge.reason = "expired"
            challenge.response = ResponseSummary(status: 401, headers: [], httpVersion: "HTTP/1.1")
            var managed = hello
            managed.clock = "/run/c"
            managed.channel = "c"
            return [
                try Sample(managed, least: hello),
                try Sample(command, least: leastCommand),
                try Sample(attachment, least: attachment),
                try Sample(task, least: leastTask),
                try Sample(
                    SessionTaskPage(tasks: [task], next: TaskID(1)), least: SessionTaskPage(tasks: [], next: nil)),
                try Sample(
                    SessionMessage(id: 1, kind: .challenge, task: task, challenge: challenge),
                    least: SessionMessage(id: 1, kind: .ended, task: leastTask)),
                try Sample(CaughtUp(through: 4), least: CaughtUp(through: 4)),
                try Sample(challenge, least: leastChallenge),
            ]
        }
    }

    private static var manifest: AppManifest {
        var manifest = AppManifest(
            id: AppID(rawValue: "org.example.Photos"), name: "Photos", entry: "/e", command: ["photos"])
        manifest.wakeCommand = ["wake"]
        manifest.directory = "/d"
        manifest.modes = Set(BackgroundMode.allCases)
        manifest.snapshot = "/p.png"
        manifest.backgroundPolicy = .contiguous
        manifest.fetchInterval = .minimum
        manifest.taskIdentifiers = ["t"]
        manifest.windowClass = "Photos"
        manifest.icon = "photos"
        manifest.locationReason = "Reminders where you are"
        return manifest
    }

    private static var app: AppStatus {
        var app = AppStatus(
            id: manifest.id, name: manifest.name, state: .suspended, background: leastBackground)
        app.manifest = manifest
        app.stateSince = date
        app.processID = 1
        app.wakes = [WakeStatus(reason: .sessionEvents, session: "s", key: "k", deadline: date)]
        app.lastExit = AppExit(time: date, cause: .signalled)
        app.launchesPausedUntil = date
        app.startsPausedUntil = date
        app.snapshotTakenAt = date
        app.sessions = ["s"]
        app.missingProgram = "The program 'a' is missing."
        return app
    }
}
