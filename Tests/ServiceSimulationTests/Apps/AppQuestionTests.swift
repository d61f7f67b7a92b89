import Apps
import Foundation
import NightshiftAPI
import SimulationSupport
import Store
import Testing
import Transfers

extension Simulations {
    /// Tests of challenges from servers and of begin dates, both of which an app must answer.
    @Suite struct AppQuestionTests {
        /// Returns a program that answers with these passwords, one after the other.
        private static func program(answering passwords: [String]) -> ScriptedProgram {
            var program = ScriptedProgram(sessions: ["s"])
            program.answer = { message in
                let failures = message.challenge?.previousFailureCount ?? 0
                guard failures < passwords.count else {
                    return MessageAnswer(message: message.id, disposition: .cancel)
                }
                var answer = MessageAnswer(message: message.id, disposition: .useCredential)
                answer.credential = Credential(user: "anna", password: passwords[failures])
                return answer
            }
            return program
        }

        private static let guarded = ScriptedProtection.basic(
            host: "guarded.example", realm: "files", user: "anna", password: "right")

        @Test func `T10: All tasks of one origin share one challenge and its answer`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("one question") { app in
                    await app.start()
                    let id = try app.install("A", Self.program(answering: ["right"]))
                    let urls = (0..<20).map { app.serve("guarded.example/\($0)", protection: Self.guarded) }
                    await app.enqueue(id, "s", urls)
                    await app.advance(by: 5)
                    let pending = await app.kept(id, "s")
                    #expect(app.record.questions.count + pending.count == 1)
                    await app.advance(atMost: 600) { await app.isThrough(id, "s", 20) }
                    #expect(app.record.questions.count == 1)
                    // Later tasks use the same answer.
                    let late = app.serve("guarded.example/late", protection: Self.guarded)
                    await app.enqueue(id, "s", [late], from: 21)
                    await app.advance(atMost: 600) { await app.isThrough(id, "s", 21) }
                    #expect(app.record.questions.count == 1)
                    #expect(await app.ended(id, "s").allSatisfy { $0.response?.status == 200 })
                    // Answers are not stored on disk, so the next service sends the challenge again.
                    try await app.crash()
                    await app.enqueue(id, "s", [app.serve("guarded.example/new", protection: Self.guarded)], from: 22)
                    await app.advance(atMost: 600) { await app.isThrough(id, "s", 22) }
                    #expect(app.record.questions.count == 2)
                    try await app.stop()
                }
            }
        }

        @Test func `T10: A credential for one proxy is not sent to the session's next proxy`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("two proxies") { app in
                    await app.start()
                    let id = try app.install("A", Self.program(answering: ["right"]))
                    var protection = ScriptedProtection.basic(host: "a.example", user: "anna", password: "right")
                    protection.challenge.port = 3_128
                    protection.challenge.isProxy = true
                    let behind = app.serve("origin.example/1", protection: protection)
                    let open = app.serve("origin.example/2")
                    var settings = SessionSettings()
                    settings.proxy = "http://a.example:3128"
                    await app.enqueue(id, "s", [behind], settings: settings)
                    await app.advance(atMost: 600) { await app.isThrough(id, "s", 1) }
                    for proxy in [
                        "http://b.example:3128", "http://own:word@b.example:3128", "socks5h://a.example:3128",
                    ] {
                        settings.proxy = proxy
                        let first = Int64(app.world.transport.begun.count + 1)
                        await app.enqueue(id, "s", [open], from: first, settings: settings)
                        await app.advance(by: 60)
                        #expect(app.world.transport.begun.last?.request.proxy == proxy)
                    }
                    settings.proxy = "http://a.example:3128"
                    await app.enqueue(id, "s", [behind], from: 100, settings: settings)
                    await app.advance(by: 60)
                    #expect(
                        app.world.transport.begun.last?.request.proxy == "http://anna:right@a.example:3128")
                    #expect(app.record.questions.count == 1)
                    try await app.stop()
                }
            }
        }

        @Test func `T10: A crash during a challenge does not make tasks wait for ever`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("crash in question") { app in
                    await app.start()
                    var program = Self.program(answering: ["right"])
                    let answer = program.answer
                    program.answer = { _ in nil }
                    let id = try app.install("A", program)
                    let urls = (0..<8).map { app.serve("guarded.example/\($0)", protection: Self.guarded) }
                    await app.enqueue(id, "s", urls)
                    await app.advance(by: 5)
                    try await app.crash()
                    // The task with the challenge is cancelled. Each of the other tasks needs a challenge of its own.
                    let asked = try #require(await app.kept(id, "s").first?.task.id)
                    await app.ask { _ = try await $1.cancel(asked, producingResumeData: false) }
                    app.programs[id]?.answer = answer
                    await app.advance(atMost: 600) { await app.isThrough(id, "s", 8) }
                    #expect(await app.isThrough(id, "s", 8))
                    try await app.stop()
                }
            }
        }

        @Test func `T10: A refused credential causes a new challenge with the failure count`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("refused") { app in
                    await app.start()
                    let id = try app.install("A", Self.program(answering: ["wrong", "worse", "right"]))
                    await app.enqueue(id, "s", [app.serve("guarded.example/1", protection: Self.guarded)])
                    await app.advance(atMost: 600) { await app.isThrough(id, "s", 1) }
                    #expect(app.record.questions.map { $0.challenge?.previousFailureCount } == [0, 1, 2])
                    #expect(await app.ended(id, "s").map(\.state) == [.completed])
                    try await app.stop()
                }
            }
        }

        @Test(arguments: [
            MessageAnswer.Disposition.performDefaultHandling, .rejectProtectionSpace, .cancel,
        ])
        func `T10: A task without a credential ends, or returns the server's response to the app`(
            _ disposition: MessageAnswer.Disposition
        ) async {
            await #expect(processExitsWith: .success) { [name = disposition.rawValue as String] in
                await Simulation.run("dispositions") { app in
                    let disposition = try #require(MessageAnswer.Disposition(rawValue: name))
                    await app.start()
                    var program = ScriptedProgram(sessions: ["s"])
                    program.answer = { MessageAnswer(message: $0.id, disposition: disposition) }
                    let id = try app.install("A", program)
                    await app.enqueue(id, "s", [app.serve("guarded.example/1", protection: Self.guarded)])
                    await app.advance(atMost: 600) { await app.isThrough(id, "s", 1) }
                    #expect(app.record.questions.count == 1)
                    let task = await app.ended(id, "s").first
                    if disposition == .cancel {
                        #expect(task?.state == .cancelled)
                    } else {
                        #expect(task?.response?.status == 401)
                        #expect(task?.state == .completed)
                    }
                    try await app.stop()
                }
            }
        }

        @Test func `T10: A certificate that one app trusts is accepted for that app, but not for another`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("server trust") { app in
                    await app.start()
                    // This is the SHA-256 hash of "abc" (FIPS 180-2, B.1).
                    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
                    let unknown = ScriptedProtection.unknownServer(
                        host: "unknown.example", certificate: Data("abc".utf8).base64EncodedString(), digest: digest)
                    var program = ScriptedProgram(sessions: ["s"])
                    program.answer = { message in
                        let trusts = message.task.task.taskIdentifier == 1
                        return MessageAnswer(
                            message: message.id, disposition: trusts ? .useCredential : .performDefaultHandling)
                    }
                    let id = try app.install("A", program)
                    let other = try app.install("B", program)
                    await app.enqueue(id, "s", [app.serve("unknown.example/1", protection: unknown)])
                    await app.advance(atMost: 60) { await app.isThrough(id, "s", 1) }
                    #expect(await app.ended(id, "s").map(\.state) == [.completed])
                    // One app's trust does not apply to another app.
                    await app.enqueue(other, "s", [app.serve("unknown.example/1", protection: unknown)], from: 2)
                    await app.advance(atMost: 60) { await app.isThrough(other, "s", 1) }
                    let refused = await app.ended(other, "s").first
                    #expect(refused?.state == .failed)
                    #expect(refused?.error?.code == .untrustedServer)
                    try await app.stop()
                }
            }
        }

        @Test func `T10: A task whose challenge is not answered ends with the resource timeout`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("no answer") { app in
                    await app.start()
                    let id = try app.install("A")
                    var settings = SessionSettings()
                    settings.resourceTimeout = 100
                    settings.sessionSendsLaunchEvents = false
                    let urls = (0..<3).map { app.serve("guarded.example/\($0)", protection: Self.guarded) }
                    let tasks = await app.enqueue(id, "s", urls, settings: settings)
                    await app.advance(by: 50)
                    for task in tasks { #expect(await app.world.status(task)?.wait?.reason == .answer) }
                    #expect(await app.kept(id, "s").map(\.kind) == [.challenge])
                    await app.advance(by: 51)
                    let kept = await app.kept(id, "s")
                    #expect(kept.map(\.kind) == [.ended, .ended, .ended])
                    #expect(kept.allSatisfy { $0.task.error?.code == .timedOut })
                    try await app.stop()
                }
            }
        }

        @Test func `T10: The service refuses an answer to a closed challenge or to another kind of message`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("wrong answers") { app in
                    await app.start()
                    let id = try app.install("A")
                    let other = try app.install("B")
                    var settings = SessionSettings()
                    settings.sessionSendsLaunchEvents = false
                    let urls = [app.serve("one"), app.serve("guarded.example/1", protection: Self.guarded)]
                    await app.enqueue(id, "s", urls, settings: settings)
                    await app.enqueue(other, "s", [])
                    await app.advance(by: 5)
                    let kept = await app.kept(id, "s")
                    let question = try #require(kept.first { $0.kind == .challenge }).id
                    let ended = try #require(kept.first { $0.kind == .ended }).id
                    func type(
                        _ app: AppID, _ message: Int64, _ disposition: MessageAnswer.Disposition, _ world: AppWorld
                    )
                        async -> String?
                    {
                        let answer = MessageAnswer(message: message, disposition: disposition)
                        guard case .failure(let problem)? = await world.call({ try await $1.answer(app, "s", answer) })
                        else { return nil }
                        return problem.type
                    }
                    #expect(await type(id, ended, .useCredential, app) == "/problems/conflict")
                    #expect(await type(id, question, .useCredential, app) == "/problems/invalid")
                    #expect(await type(id, question, .continueLoading, app) == "/problems/invalid")
                    #expect(await type(other, question, .performDefaultHandling, app) == "/problems/not-found")
                    // Acknowledging a challenge does not remove it.
                    await app.ask { try await $1.acknowledge(id, "s", [question]) }
                    #expect(await type(id, question, .performDefaultHandling, app) == nil)
                    #expect(await type(id, question, .performDefaultHandling, app) == "/problems/not-found")
                    try await app.stop()
                }
            }
        }

        @Test func `T10: An app may replace or cancel a delayed request`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("delayed requests") { app in
                    await app.start()
                    let elsewhere = app.serve("elsewhere")
                    var program = ScriptedProgram(sessions: ["s"])
                    program.answer = { message in
                        switch message.task.task.taskIdentifier {
                        case 1: return MessageAnswer(message: message.id, disposition: .continueLoading)
                        case 2:
                            var answer = MessageAnswer(message: message.id, disposition: .continueLoading)
                            answer.request = TaskRequest(url: elsewhere)
                            answer.clientData = "new"
                            return answer
                        default: return MessageAnswer(message: message.id, disposition: .cancel)
                        }
                    }
                    let id = try app.install("A", program)
                    let url = app.serve("one")
                    let begin = app.world.now.date.addingTimeInterval(500)
                    await app.enqueue(id, "s", [url, url, url]) { task in
                        task.asksBeforeBeginning = true
                        task.request.earliestBeginDate = begin
                        task.request.credential = Credential(user: "anna", password: "secret")
                        task.request.headers = [HeaderField(name: "Authorization", value: "secret")]
                    }
                    await app.advance(by: 499)
                    #expect(app.world.transport.begun.isEmpty)
                    #expect(app.host.launches.isEmpty)
                    try await app.crash()
                    await app.advance(atMost: 100) { await app.isThrough(id, "s", 3) }
                    // The service launched the app once for the delayed request.
                    #expect(app.host.launches.map { $0.environment["NIGHTSHIFT_WAKE"] } == ["delayedRequest"])
                    #expect(app.record.questions.map(\.kind) == [.delayedRequest, .delayedRequest, .delayedRequest])
                    let tasks = await app.ended(id, "s")
                    #expect(tasks.map(\.state) == [.completed, .completed, .cancelled])
                    let begun = app.world.transport.begun.map(\.request)
                    #expect(begun.map(\.url).sorted() == [elsewhere, url].sorted())
                    // Credentials for one origin are not sent to another.
                    let moved = try #require(begun.first { $0.url == elsewhere })
                    #expect(moved.credential == nil)
                    #expect(moved.headers.first("Authorization") == nil)
                    try await app.stop()
                }
            }
        }

        @Test func `T10: The service asks the app at once about a begin date that has already passed`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("a begin date that has passed") { app in
                    await app.start()
                    var program = ScriptedProgram(sessions: ["s"])
                    program.answer = { MessageAnswer(message: $0.id, disposition: .continueLoading) }
                    let id = try app.install("A", program)
                    let begin = app.world.now.date.addingTimeInterval(-5)
                    await app.enqueue(id, "s", [app.serve("one")]) { task in
                        task.asksBeforeBeginning = true
                        task.request.earliestBeginDate = begin
                    }
                    await app.advance(atMost: 100) { await app.isThrough(id, "s", 1) }
                    #expect(app.record.questions.map(\.kind) == [.delayedRequest])
                    #expect(await app.ended(id, "s").map(\.state) == [.completed])
                    try await app.stop()
                }
            }
        }
    }
}

extension AppWorld {
    /// Returns the session's tasks that have ended, in the order of their ids.
    func ended(_ app: AppID, _ session: String) async -> [TaskRecord] {
        let id = SessionID(app: app, identifier: session)
        return
            (try? await world.store.read { transaction in
                try transaction.tasks(session: id, states: [.completed, .failed, .cancelled], after: nil, limit: 1_000)
            }) ?? []
    }
}
