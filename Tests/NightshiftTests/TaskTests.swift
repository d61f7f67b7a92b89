import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of sessions and tasks as the app uses them (spec sections 2.2 and 2.3).
@Suite struct TaskTests {
    @Test func `T7: Calls to suspend() and resume() nest`() async throws {
        let world = try World()
        let session = world.process().session(Recorder())
        let task = session.downloadTask(with: url())
        task.suspend()
        task.resume()
        #expect(task.state == .suspended)
        #expect(world.service.state.read { $0.requests.isEmpty })
        task.resume()
        #expect(task.state == .running)
        task.suspend()
        task.suspend()
        #expect(task.state == .suspended)
        try await world.service.state.wait(for: "the suspension") { $0.log.contains("POST /v1/tasks/100/suspend") }
        task.resume()
        #expect(world.service.state.read { !$0.log.contains("POST /v1/tasks/100/resume") })
        task.resume()
        #expect(
            world.service.state.read { $0.log.last { $0.hasPrefix("POST /v1/tasks") } } == "POST /v1/tasks/100/resume")
        task.resume()
        #expect(
            world.service.state.read { $0.log.filter { $0.hasSuffix("/suspend") || $0.hasSuffix("/resume") }.count }
                == 2)
    }

    @Test func `T8: An app's proxy variables apply to its tasks if its configuration sets no proxy`() async throws {
        let world = try World()
        let process = world.process(environment: ["http_proxy": "proxy:3128", "no_proxy": "direct.example"])
        let session = process.session(Recorder())
        let own = process.session(Recorder(), identifier: "org.example.own") {
            $0.connectionProxyDictionary = [:]
        }
        session.downloadTask(with: url("http://example.org/a")).resume()
        session.downloadTask(with: url("http://direct.example/b")).resume()
        session.downloadTask(with: url("https://example.org/c")).resume()
        let sent = world.service.state.read { $0.requests.values.map(\.request) }
        let proxies = Dictionary(sent.map { ($0.url ?? "", $0.proxy) }) { $1 }
        #expect(proxies["http://example.org/a"] == "http://proxy:3128")
        #expect(proxies["http://direct.example/b"] == "")
        #expect(sent.first { $0.url == "http://example.org/a" }?.proxyVariable == "http_proxy")
        #expect(sent.first { $0.url == "https://example.org/c" }?.proxy == nil)
        // The test's service identifies tasks by their numbers. This session also counts from 1, so it is used last.
        own.downloadTask(with: url("http://example.org/d")).resume()
        let last = world.service.state.read { $0.requests.values.first { $0.request.url == "http://example.org/d" } }
        #expect(try #require(last).request.proxyVariable == nil)
    }

    @Test func `T7: All properties of a task reach the service`() async throws {
        let world = try World()
        let session = world.process().session(Recorder()) { configuration in
            configuration.timeoutIntervalForRequest = 20
            configuration.timeoutIntervalForResource = 3_600
            configuration.httpMaximumConnectionsPerHost = 2
            configuration.httpAdditionalHeaders = ["X-Session": "s"]
            configuration.sessionSendsLaunchEvents = false
            configuration.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "proxy", "HTTPPort": 3128]
        }
        var request = URLRequest(url: url(), timeoutInterval: 5)
        request.setValue("secret", forHTTPHeaderField: "Authorization")
        request.setValue("text/plain", forHTTPHeaderField: "Accept")
        let task = session.downloadTask(with: request)
        let date = Date(timeIntervalSince1970: 2_000_000_000)
        task.earliestBeginDate = date
        task.countOfBytesClientExpectsToSend = 200
        task.countOfBytesClientExpectsToReceive = 500 * 1024
        task.priority = URLSessionTask.highPriority
        task.taskDescription = "photo"
        task.resume()
        let sent = try #require(world.service.state.read { $0.requests[1] })
        #expect(sent.request.earliestBeginDate == date)
        #expect(sent.request.countOfBytesClientExpectsToSend == 200)
        #expect(sent.request.countOfBytesClientExpectsToReceive == 512_000)
        #expect(sent.request.priority == 0.75)
        #expect(sent.request.description == "photo")
        #expect(sent.request.idleTimeout == 5)
        #expect(sent.request.headers?.first("authorization") == "secret")
        #expect(sent.asksBeforeBeginning == nil)
        #expect(sent.clientData?.contains("text/plain") == true)
        #expect(sent.clientData?.contains("secret") == false)
        let settings = try #require(world.service.state.read { $0.settings["org.example.photos"] })
        #expect(settings.idleTimeout == 20)
        #expect(settings.resourceTimeout == 3_600)
        #expect(settings.httpMaximumConnectionsPerHost == 2)
        #expect(settings.headers.first == HeaderField(name: "X-Session", value: "s"))
        #expect(!settings.sessionSendsLaunchEvents)
        #expect(settings.proxy == "http://proxy:3128")
        task.priority = 0
        try await world.service.state.wait(for: "the change") { $0.changes.map(\.priority) == [0] }
    }

    @Test func `T7: Changes made while a task is handed over reach the service afterwards`() async throws {
        let tasks = "POST /v1/process/sessions/org.example.photos/tasks"
        let world = try World()
        let task = world.process().session(Recorder()).downloadTask(with: url())
        let gate = Gate()
        world.service.state.update { $0.gates[tasks] = gate }
        task.taskDescription = "first"
        Thread.detachNewThread { task.resume() }
        try await world.service.state.wait(within: .seconds(90), for: "the task") { $0.open[tasks] == 1 }
        task.priority = 1
        task.priority = 0.75
        task.taskDescription = "second"
        gate.open()
        try await world.service.state.wait(for: "the change") { !$0.changes.isEmpty }
        let changes = world.service.state.read(\.changes)
        #expect(changes == [TaskChange(priority: 0.75, description: "second")])
        // The first request contains the earlier description. If the request took longer than the timeout, the library
        // repeated it with the current description.
        #expect(world.service.state.read { $0.handedOver.contains { $0.request.description == "first" } })
        #expect(task.priority == 0.75 && task.taskDescription == "second")
        // The app makes this change while the service is away.
        world.service.stop()
        task.taskDescription = "third"
        try world.service.start()
        try await world.service.state.wait(for: "the next change") { $0.changes.last?.description == "third" }
    }

    @Test func `T7: A cancelled task ends with NSURLErrorCancelled, even if the service does not have it`() async throws
    {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let first = session.downloadTask(with: url())
        let second = session.downloadTask(with: url())
        second.resume()
        first.cancel()
        #expect(first.state == .canceling || first.state == .completed)
        try await delegate.heard.wait(for: "the first end") { $0 == ["1 completed -999"] }
        second.cancel()
        second.cancel()
        #expect(try await delegate.heard.are(["1 completed -999", "2 completed -999"]))
        #expect(world.service.state.read { $0.log.filter { $0.hasSuffix("/cancel") } } == ["POST /v1/tasks/100/cancel"])
        let error = try #require(delegate.errors.read { $0[2] } as? URLError)
        #expect(error.code == .cancelled)
        #expect(error.failingURL == url())
        #expect(error.backgroundTaskCancelledReason == nil)
    }

    @Test func `T7: Cancelling without an entity tag produces no resume data`() async throws {
        let world = try World()
        let session = world.process().session(Recorder())
        let held = session.downloadTask(with: url())
        #expect(await held.cancelByProducingResumeData() == nil)
    }

    @Test func `T7: A download restarts if its resume data is refused, and fails if the data is foreign`() async throws
    {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let download = session.downloadTask(with: url())
        download.resume()
        let data = try #require(await download.cancelByProducingResumeData())
        world.service.state.update { state in
            state.refusals["POST /v1/process/sessions/org.example.photos/tasks"] = .invalid("Used up.")
        }
        let task = session.downloadTask(withResumeData: data)
        task.resume()
        // The library sends one request with the token and one without it.
        try await delegate.heard.wait(for: "a refusal") { $0.last == "2 completed -1000" }
        #expect(
            world.service.state.read { $0.log.filter { $0 == "POST /v1/process/sessions/org.example.photos/tasks" } }
                .count == 3)
        let foreign = session.downloadTask(withResumeData: Data("no".utf8))
        foreign.resume()
        try await delegate.heard.wait(for: "its end") { $0.last == "3 completed -1002" }
    }

    /// Download managers for iOS pause in this way. They look for the file that the data names, move it to a safe
    /// folder, and restart the download if it is missing.
    @Test func `T13: Unused resume data names a file with the length of the received data`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let download = session.downloadTask(with: url())
        download.resume()
        world.service.change(1) { $0.task.countOfBytesReceived = 3 << 30 }
        let data = try #require(await download.cancelByProducingResumeData())
        let list = try #require(try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
        let name = try #require(list["NSURLSessionResumeInfoTempFileName"] as? String)
        let file = NSTemporaryDirectory() + name
        #expect(try URL(filePath: file).resourceValues(forKeys: [.fileSizeKey]).fileSize == 3 << 30)
        #expect(list["NSURLSessionResumeBytesReceived"] as? Int == 3 << 30)
        // The error of this cancellation names the same file, and the library creates no second file.
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed -999" }
        let again = (delegate.errors.read { $0[1] } as? URLError)?.downloadTaskResumeData
        #expect(again.map { String(decoding: $0, as: UTF8.self).contains(name) } == true)
        let kept = "\(world.directory.path)/kept"
        try FileManager.default.moveItem(atPath: file, toPath: kept)
        try FileManager.default.moveItem(atPath: kept, toPath: file)
        session.downloadTask(withResumeData: data).resume()
        #expect(world.service.state.read { $0.requests[2]?.request.resumeData } == world.service.token(100))
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    /// The app pauses the task again before the service has it, because the service is away or the app has only created
    /// the task.
    @Test(arguments: [true, false])
    func `T13: A task that has not used its resume data returns the data again, with the file`(isResumed: Bool)
        async throws
    {
        let world = try World()
        let delegate = Recorder()
        let process = world.process()
        let session = process.session(delegate)
        let download = session.downloadTask(with: url())
        download.resume()
        let data = try #require(await download.cancelByProducingResumeData())
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed -999" }
        if isResumed {
            world.service.stop()
            try await eventually("the service is missed") { process.connection.isUnreachable }
        }
        let next = session.downloadTask(withResumeData: data)
        if isResumed { next.resume() }
        let again = try #require(await next.cancelByProducingResumeData())
        #expect(ResumeData(again)?.token == world.service.token(100))
        let file = StandInFile(token: world.service.token(100)).path
        #expect(FileManager.default.fileExists(atPath: file))
        try await delegate.heard.wait(for: "the end") { $0.last == "2 completed -999" }
        #expect((delegate.errors.read { $0[2] } as? URLError)?.downloadTaskResumeData == again)
        if isResumed { try world.service.start() }
        session.downloadTask(withResumeData: again).resume()
        try await world.service.state.wait(for: "the download") {
            $0.requests[3]?.request.resumeData == world.service.token(100)
        }
        try await eventually("the file is used up") { !FileManager.default.fileExists(atPath: file) }
    }

    /// The larger file takes longer to copy than resume() waits.
    @Test(arguments: [8, 8 << 20])
    func `T5: The app may delete the file of an upload once resume() has returned`(size: Int) async throws {
        let tasks = "POST /v1/process/sessions/org.example.photos/tasks"
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let gate = Gate()
        if size > 1 << 20 { world.service.state.update { $0.gates[tasks] = gate } }
        let file = "\(world.directory.path)/source"
        try Data(repeating: 7, count: size).write(to: URL(filePath: file))
        let task = session.uploadTask(with: URLRequest(url: url()), fromFile: URL(filePath: file))
        task.resume()
        try FileManager.default.removeItem(atPath: file)
        // Other tasks do not wait for the upload.
        let cancelled = session.downloadTask(with: url())
        cancelled.cancel()
        try await delegate.heard.wait(for: "the cancellation") { $0 == ["2 completed -999"] }
        task.suspend()
        let isResumed = Watched(false)
        Thread.detachNewThread {
            task.resume()
            isResumed.update { $0 = true }
        }
        try await isResumed.wait(for: "resume()") { $0 }
        var command = ProcessCommand(number: 1, action: .enter)
        command.state = .background
        world.service.command(command)
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledgedCommands == [1] }
        gate.open()
        try await world.service.state.wait(for: "the upload") { $0.sources[1] != nil }
        #expect(world.service.state.read { $0.sources[1] } == Int64(size))
        #expect(world.service.state.read { $0.requests[1]?.request.snapshot } == .copy)
        #expect(world.service.state.read { $0.requests[1]?.request.source } == file)
        try world.service.end(1, content: nil)
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
    }

    @Test func `T5: Waiting uploads leave enough descriptors for the app and its service connections`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            let process = world.process()
            let session = process.session(Recorder())
            let file = try world.directory.write("body", to: "body")
            // After this call, the session knows its first task number.
            await session.flush()
            world.service.stop()
            try await eventually("the service is missed") { process.connection.isUnreachable }
            let count = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            var limit = rlimit()
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            let isKnown = getrlimit(resource, &limit) == 0
            limit.rlim_cur = rlim_t(count + 160)
            let isSet = setrlimit(resource, &limit) == 0
            try #require(isKnown && isSet)
            for _ in 1...300 {
                session.uploadTask(with: URLRequest(url: url()), fromFile: URL(filePath: file)).resume()
            }
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            try #require(descriptor >= 0)
            close(descriptor)
            try world.service.start()
            try await world.service.state.wait(for: "all uploads") { Set($0.order).count == 300 }
        }
    }

    @Test func `T5: The library closes the file of an upload that ends before its hand-over is answered`() async throws
    {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let file = try world.directory.write("body", to: "body")
        world.service.state.update { state in
            state.unanswered["POST /v1/process/sessions/org.example.photos/tasks"] = .max
        }
        let task = session.uploadTask(with: URLRequest(url: url()), fromFile: URL(filePath: file))
        let core = try #require(task as? BackgroundUploadTask).core
        Thread.detachNewThread { task.resume() }
        try await world.service.state.wait(for: "the task") { $0.sources[1] == 4 }
        try world.service.end(1)
        try await delegate.heard.wait(for: "its end") { $0.last == "1 completed" }
        // The library must close the file even while the app retains the task.
        try await eventually("the file is closed", within: .seconds(60)) { !core.hasOpenSource }
    }

    @Test func `T5 T13: An upload continues from resume data, and its request names no file`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let upload = session.uploadTask(with: URLRequest(url: url()), fromFile: URL(filePath: #filePath))
        upload.resume()
        let data = try #require(await upload.cancelByProducingResumeData())
        try await delegate.heard.wait(for: "its end") { $0.last == "1 completed -999" }
        session.uploadTask(withResumeData: data).resume()
        try await eventually("the second upload") { world.service.state.read { $0.requests[2] != nil } }
        let request = try #require(world.service.state.read { $0.requests[2]?.request })
        #expect(request.kind == .upload && request.resumeData == world.service.token(100) && request.source == nil)
        // Only the service knows the file, so the upload cannot restart without it.
        world.service.state.update { state in
            state.refusals["POST /v1/process/sessions/org.example.photos/tasks"] = .invalid("Used up.")
        }
        session.uploadTask(withResumeData: data).resume()
        try await delegate.heard.wait(for: "a refusal") { $0.last == "3 completed -1000" }
    }

    @Test func `T7: Tasks with numbers that JSON cannot represent reach the service`() async throws {
        let world = try World()
        let process = world.process()
        let session = process.session(Recorder()) { $0.minimumBattery = .nan }
        var endless = URLRequest(url: url(), timeoutInterval: .infinity)
        endless.setValue("de", forHTTPHeaderField: "Accept-Language")
        endless.httpShouldHandleCookies = false
        endless.networkServiceType = .background
        let (first, second) = (session.downloadTask(with: endless), session.downloadTask(with: url()))
        first.priority = .nan
        first.resume()
        second.resume()
        try await world.service.state.wait(for: "both tasks") { $0.order.sorted() == [1, 2] }
        let sent = try #require(world.service.state.read { $0.requests[1]?.request })
        #expect(sent.priority == 0.5 && sent.idleTimeout == Limits.longestTimeout)
        #expect(world.service.state.read { $0.settings["org.example.photos"]?.minimumBattery } == 0)
        second.priority = -.infinity
        try await world.service.state.wait(for: "the change") { $0.changes.map(\.priority) == [0] }
        process.die()
        let later = await world.process().session(Recorder()).tasks.2
        let request = try #require(later.first { $0.taskIdentifier == 1 }?.originalRequest)
        #expect(request.value(forHTTPHeaderField: "Accept-Language") == "de" && !request.httpShouldHandleCookies)
        #expect(request.timeoutInterval == Limits.longestTimeout && request.networkServiceType == .background)
    }

    @Test func `T7: flush() sends never-resumed tasks as suspended`() async throws {
        let world = try World()
        let process = world.process()
        let session = process.session(Recorder())
        let task = session.downloadTask(with: url())
        await session.flush()
        #expect(world.service.state.read { $0.requests[1]?.request.suspended } == true)
        #expect(task.state == .suspended)
        process.die()
        let later = world.process().session(Recorder())
        let tasks = await later.tasks.2
        #expect(tasks.map(\.state) == [.suspended])
        tasks.first?.resume()
        #expect(
            world.service.state.read { $0.log.last { $0.hasPrefix("POST /v1/tasks") } } == "POST /v1/tasks/100/resume")
    }

    @Test func `T7: The list of tasks includes tasks that were never resumed, but not ended tasks`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let file = try world.directory.write("body", to: "body")
        let first = session.downloadTask(with: url())
        let second = session.uploadTask(with: URLRequest(url: url()), fromFile: URL(filePath: file))
        let third = session.downloadTask(with: url())
        third.resume()
        #expect(await session.allTasks == [first, second, third])
        try world.service.end(3)
        try await delegate.heard.wait(for: "its end") { $0.last == "3 completed" }
        let (data, uploads, downloads) = await session.tasks
        #expect(data == [])
        #expect(uploads == [second])
        #expect(downloads == [first])
    }

    @Test func `T7: An invalidated session lets tasks end, sends a last message and releases its delegate`()
        async throws
    {
        let world = try World()
        let process = world.process()
        weak var released: Recorder?
        var delegate: Recorder? = Recorder()
        released = delegate
        let heard = try #require(delegate).heard
        let session = process.session(try #require(delegate))
        delegate = nil
        #expect(released != nil)
        session.downloadTask(with: url()).resume()
        session.finishTasksAndInvalidate()
        try world.service.end(1)
        #expect(try await heard.are(["1 wrote 7, 7/7", "1 finished 'content'", "1 completed", "invalid"]))
        try await eventually("the delegate is let go of") { released == nil }
        #expect(session.delegate == nil)
        // The identifier can be used again.
        let again = Recorder()
        let next = process.session(again)
        #expect(next !== session)
        next.downloadTask(with: url()).resume()
        next.invalidateAndCancel()
        #expect(try await again.heard.are(["2 completed -999", "invalid"]))
    }

    /// A delegate that invalidates its session when it is released.
    private final class Owner: NSObject, URLSessionDelegate, Sendable {
        let session = Watched<BackgroundURLSession?>(nil)
        let isGone = Watched(false)

        deinit {
            session.read { $0 }?.invalidateAndCancel()
            isGone.update { $0 = true }
        }
    }

    private static func makeOwnedSession(_ process: AppProcess) -> Watched<Bool> {
        let owner = Owner()
        let session = process.session(owner)
        owner.session.update { $0 = session }
        return owner.isGone
    }

    @Test func `T7: A delegate that only its session retains may use the session during its release`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            let process = world.process()
            let isGone = TaskTests.makeOwnedSession(process)
            process.die()
            try await isGone.wait(for: "the end of the delegate") { $0 }
        }
    }

    @Test func `T7: A process has one session for each identifier`() async throws {
        let world = try World()
        let process = world.process()
        let first = Recorder()
        let session = process.session(first)
        let second = Recorder()
        #expect(process.session(second) === session)
        session.downloadTask(with: url()).resume()
        try world.service.end(1)
        try await first.heard.wait(for: "the end") { $0.last == "1 completed" }
        #expect(second.heard.read { $0 } == [])
    }

    @Test
    func `T7: A session and its tasks fail with NSURLErrorBackgroundSessionInUseByAnotherProcess in a second process`()
        async throws
    {
        let world = try World()
        world.service.state.update { $0.taken = ["org.example.photos"] }
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        task.resume()
        #expect(try await delegate.heard.are(["\(task.taskIdentifier) completed -996", "invalid -996"]))
        #expect((task.error as? URLError)?.code == .backgroundSessionInUseByAnotherProcess)
    }

    @Test func `T7: A refused session fails, together with its tasks, with a code that says why`()
        async throws
    {
        let world = try World()
        world.service.state.update { state in
            state.refusals["PUT /v1/process/sessions/org.example.photos"] = .invalid("It has too long a name.")
        }
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        task.resume()
        #expect(try await delegate.heard.are(["\(task.taskIdentifier) completed -1000", "invalid -1000"]))
        #expect(task.error?.localizedDescription == "It has too long a name.")
    }

    @Test func `T7: An upload without its file fails with NSURLErrorFileDoesNotExist`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.uploadTask(with: URLRequest(url: url()), fromFile: URL(filePath: "/no/such/file")).resume()
        #expect(try await delegate.heard.are(["1 completed -1100"]))
    }

    @Test(
        arguments: [
            (TransferFailure.Code.timedOut, -1001), (.cannotResolveHost, -1003), (.untrustedServer, -1202),
            (.certificateOutOfDate, -1201),
            (.clientCertificate, -1206), (.tlsFailure, -1200), (.sourceMissing, -1100), (.tooLarge, -1103),
            (.diskFull, -3003),
        ])
    func `T9: A failed transfer has Apple's code for its failure`(code: TransferFailure.Code, expected: Int)
        async throws
    {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        try world.service.end(1, .failed, error: TransferFailure(code, "In words."))
        #expect(try await delegate.heard.are(["1 completed \(expected)"]))
        let error = try #require(delegate.errors.read { $0[1] })
        #expect(error.localizedDescription == "In words.")
    }

    @Test func `T10: After a force quit, the next process gets NSURLErrorCancelled with the reason and resume data`()
        async throws
    {
        let world = try World()
        let process = world.process()
        process.session(Recorder()).downloadTask(with: url()).resume()
        process.die()
        try world.service.end(
            1, .cancelled, error: TransferFailure(.forceQuit, "The user force-quit the app."), resumeData: "token")
        let delegate = Recorder()
        let session = world.process().session(delegate)
        #expect(try await delegate.heard.are(["1 completed -999"]))
        let error = try #require(delegate.errors.read { $0[1] } as? URLError)
        #expect(error.backgroundTaskCancelledReason == .userForceQuitApplication)
        #expect(error.userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int == 0)
        let bridged = error as NSError
        #expect(bridged.domain == NSURLErrorDomain && bridged.code == NSURLErrorCancelled)
        #expect(bridged.userInfo[NSURLSessionDownloadTaskResumeData] as? Data == error.downloadTaskResumeData)
        let next = session.downloadTask(withResumeData: try #require(error.downloadTaskResumeData))
        next.resume()
        #expect(world.service.state.read { $0.requests[2]?.request.resumeData } == "token")
    }

    @Test func `T7: An app can observe, cancel and pause a task through its progress object`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        task.resume()
        world.service.progress(1, received: 25, of: 100)
        try await delegate.heard.wait(for: "progress") { $0 == ["1 wrote 25, 25/100"] }
        #expect(task.progress.fractionCompleted == 0.25)
        task.progress.pause()
        try await eventually("it is suspended") { task.state == .suspended }
        task.progress.resume()
        try await eventually("it is running") { task.state == .running }
        // After any number of pauses, one resume continues the task.
        for _ in 1...3 { task.progress.pause() }
        try await eventually("it is suspended") { task.state == .suspended }
        task.progress.pause()
        task.progress.resume()
        try await eventually("it is running again") { task.state == .running }
        task.progress.cancel()
        try await delegate.heard.wait(for: "its end") { $0.last == "1 completed -999" }
    }

    /// FoundationNetworking traps if the code of an error with an unknown code is read.
    @Test(arguments: TransferFailure.Code.allCases)
    func `T9: URLError has a code for every failure`(code: TransferFailure.Code) {
        #expect(URLError.Code(rawValue: code.urlErrorCode) != nil)
    }
}
