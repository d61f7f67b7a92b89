import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct PushCommandTests {
    private static let id = AppID(rawValue: "org.example.Mail")

    static func push(_ secondsAgo: Double, _ state: PushRecord.State, _ sentence: String) -> PushRecord {
        var push = PushRecord(
            id: "0d5c7a3e-8d0e-4c73-9e10-5a4f0d3f1a01", received: Samples.ago(secondsAgo), priority: 5, isSilent: true,
            hasAlert: false)
        push.state = state
        push.sentence = sentence
        return push
    }

    private static var mail: AppPushStatus {
        var app = AppPushStatus(app: id, name: "Mail", alerts: .allowed)
        app.isRegistered = true
        app.token = "a1b2c3"
        app.sentence = "It would be woken."
        var handled = push(3_600, .handled, "The app was woken for it.")
        handled.woken = Samples.ago(3_599)
        handled.ended = Samples.ago(3_597)
        handled.result = .newData
        var alert = PushRecord(
            id: "0d5c7a3e-8d0e-4c73-9e10-5a4f0d3f1a02", received: Samples.ago(600), priority: 10, isSilent: false,
            hasAlert: true)
        alert.state = .shown
        alert.shown = Samples.ago(599)
        alert.sentence = "It does not ask for the app to be woken.\u{1b}[2J"
        app.pushes = [handled, alert]
        app.waiting = push(60, .waiting, "The device dozes.")
        return app
    }

    static var device: PushStatus {
        var status = PushStatus(connection: .open, sentence: "The gateway is connected.", apps: [mail])
        status.enrolment = PushStatus.Enrolment(
            host: "push.example.org", port: 5_223, device: "d-1", enrolled: Samples.ago(86_400))
        status.keepAlive = 900
        status.next = Samples.now.addingTimeInterval(300)
        status.lastHeard = Samples.ago(600)
        return status
    }

    private static var none: AppPushStatus {
        var app = AppPushStatus(app: AppID(rawValue: "org.example.None"), name: "", alerts: .ask)
        app.sentence = "It has not registered."
        app.error = "The device is enrolled nowhere: 'nightshift push enrol URL'."
        return app
    }

    private func service(_ world: World) throws -> ScriptedService {
        try world.service { request in
            switch (request.method, request.path) {
            case ("GET", "/v1/push"), ("POST", "/v1/push-enrolment"): try .json(Self.device)
            case ("DELETE", "/v1/push-enrolment"), ("DELETE", "/v1/push/org.example.Mail/registration"):
                .json(204, Data())
            case (_, let path) where path.hasPrefix("/v1/push/org.example.Mail"): try .json(Self.mail)
            case (_, let path) where path.hasPrefix("/v1/push/org.example.None"): try .json(Self.none)
            default: throw Problem.notFound("There is nothing at \(request.path).")
            }
        }
    }

    @Test(
        arguments: [
            (["push"], "GET /v1/push", nil), (["push", "status"], "GET /v1/push", nil),
            (
                ["push", "enrol", "nightshift-push://h:1/C", "--name", "n", "--authority", "/a.pem"],
                "POST /v1/push-enrolment", #"{"authority":"\/a.pem","name":"n","url":"nightshift-push:\/\/h:1\/C"}"#
            ),
            (["push", "leave"], "DELETE /v1/push-enrolment", nil),
            (["push", "token", "org.example.Mail"], "PUT /v1/push/org.example.Mail/registration", nil),
            (["push", "token", "org.example.Mail", "--remove"], "DELETE /v1/push/org.example.Mail/registration", nil),
            (["push", "why", "org.example.Mail.desktop"], "GET /v1/push/org.example.Mail", nil),
            (["app", "notifications", "org.example.Mail"], "GET /v1/push/org.example.Mail", nil),
            (
                ["app", "notifications", "org.example.Mail", "--deny"], "PATCH /v1/push/org.example.Mail",
                #"{"alerts":"denied"}"#
            ),
        ] as [([String], String, String?)])
    func `R3: Each command sends one request`(arguments: [String], line: String, body: String?) async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await CommandLineProgram.run(world.invocation(arguments)) == .whole)
        let first = try #require(service.requests.first)
        #expect("\(first.method) \(first.path)" == line)
        let sent = String(decoding: first.body, as: UTF8.self).replacing("\\/", with: "/")
        #expect(sent == (body ?? "").replacing("\\/", with: "/"))
        #expect(!world.output.text.isEmpty && world.errors.text.isEmpty)
    }

    @Test(
        arguments: [
            (["push", "enrol"], "url"), (["push", "enrol", "https://h/C"], "nightshift-push://"),
            (["push", "token"], "id"), (["app", "notifications", "a", "--allow", "--deny"], "--deny"),
        ] as [([String], String)])
    func `R3: Invalid arguments are refused before any request`(
        arguments: [String], words: String
    ) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(arguments)) == .usage)
        #expect(world.errors.text.contains(words), "\(world.errors.text)")
    }

    @Test func `R3: push token prints only the token, and fails without one`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("push", "token", "org.example.Mail") == .whole)
        #expect(world.output.text == "a1b2c3\n")
        let other = try World()
        let another = try self.service(other)
        defer { another.stop() }
        #expect(await other.run("push", "token", "org.example.None") == .failed)
        #expect(other.output.text.isEmpty && other.errors.text.contains("nightshift push enrol"))
    }

    @Test func `R3: why explains each push in a sentence without control characters`() throws {
        let report = PushReport(times: Samples.times, style: Style(isEnabled: false))
        let lines = report.lines(Self.mail)
        #expect(
            lines.contains { $0.contains("silent, priority 5: handled in 2 s, new data. The app was woken for it.") })
        #expect(lines.contains { $0.contains("alert, priority 10: shown") })
        #expect(lines.contains { $0.contains("waiting") && $0.contains("The device dozes.") })
        #expect(report.section(Self.none).isEmpty && report.section(Self.mail).first == "Remote notifications:")
        let all = lines + report.lines(Self.device)
        #expect(all.allSatisfy { text in text.unicodeScalars.allSatisfy { $0.value >= 0x20 } })
    }

    @Test func `R3: push does not list a hidden alert as shown, and prints the command that shows alerts`() {
        let report = PushReport(times: Samples.times, style: Style(isEnabled: false))
        var app = Self.none
        var alert = PushRecord(
            id: "0d5c7a3e-8d0e-4c73-9e10-5a4f0d3f1a03", received: Samples.ago(60), priority: 10, isSilent: false,
            hasAlert: true)
        (alert.state, alert.alert) = (.notShown, .permission)
        alert.sentence = AlertState.permission.sentence(of: app.app)
        app.pushes = [alert]
        for permission in [NotificationPermission.ask, .denied] {
            app.alerts = permission
            let lines = report.lines(app)
            let command = "nightshift app notifications org.example.None --allow"
            #expect(lines.contains { $0.contains("alerts") && $0.contains(command) })
            #expect(lines.contains { $0.contains("alert, priority 10: not shown. ") && $0.contains(command) })
            #expect(!lines.contains { $0.contains(": shown") || $0.contains("shown at") })
        }
    }

    @Test func `R3: doctor names the app whose alerts wait for permission, and the command to allow them`() {
        var status = Self.device
        status.apps[0].pushes[1].alert = .permission
        let finding = DoctorChecks.finding(status)
        #expect(finding.advice?.contains("nightshift app notifications org.example.Mail --allow") == true)
    }

    @Test func `R3: With --json each command prints the JSON body of the API's response`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("push", "--json") == .whole)
        #expect(try JSON.decode(PushStatus.self, from: Data(world.output.text.utf8)) == Self.device)
        let other = try World()
        let another = try self.service(other)
        defer { another.stop() }
        #expect(await other.run("push", "why", "org.example.Mail", "--json") == .whole)
        #expect(try JSON.decode(AppPushStatus.self, from: Data(other.output.text.utf8)) == Self.mail)
    }

    @Test func `B7: push prints UnifiedPush registrations and waiting messages`() {
        let report = PushReport(times: Samples.times, style: Style(isEnabled: false))
        var registration = UnifiedPushStatus(
            app: AppID(rawValue: "org.example.Chat"), about: "An account\u{1b}[2J", version: 2,
            sentence: "The app cannot be reached.")
        registration.waiting = 3
        registration.endpoint = "https://push.example.org/up/00ff"
        registration.last = Samples.ago(600)
        var status = PushStatus(connection: .open, sentence: "The gateway is connected.", apps: [])
        #expect(report.lines(status).contains { $0.contains("No app is registered") })
        status.unifiedPush = [registration]
        let lines = report.lines(status)
        #expect(!lines.contains { $0.contains("No app is registered") })
        #expect(
            lines.contains { $0.contains("org.example.Chat (An account") && $0.contains("3 waiting. The app cannot") })
        #expect(lines.contains { $0.contains("https://push.example.org/up/00ff") })
        #expect(lines.allSatisfy { text in text.unicodeScalars.allSatisfy { $0.value >= 0x20 } })
        #expect(DoctorChecks.finding(status).result == .warn, "it is enrolled nowhere")
        status.enrolment = Self.device.enrolment
        let finding = DoctorChecks.finding(status)
        #expect(finding.result == .ok && "\(finding)".contains("3 messages wait"))
    }
}
