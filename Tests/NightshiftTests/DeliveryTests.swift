import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of the calls to the delegate, their order and their number (spec sections 2.4 and 3).
@Suite struct DeliveryTests {
    @Test func `T7: A download's delegate gets its calls in Apple's order`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        #expect(task.state == .suspended)
        #expect(task.taskIdentifier == 1)
        task.resume()
        #expect(task.state == .running)
        // When resume() returns, the task is on the service's disk.
        #expect(world.service.state.read { $0.requests[1]?.request.url } == "http://example.org/file")
        world.service.progress(1, received: 3, of: 7)
        try await delegate.heard.wait(for: "progress") { $0.count == 1 }
        let message = try world.service.end(1)
        #expect(
            try await delegate.heard.are(["1 wrote 3, 3/7", "1 wrote 4, 7/7", "1 finished 'content'", "1 completed"]))
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledged == [message] }
        #expect(task.state == .completed)
        #expect(task.error == nil)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(task.progress.fractionCompleted == 1)
        session.invalidateAndCancel()
    }

    @Test func `T7: The file exists during didFinishDownloadingTo and is deleted afterwards`() async throws {
        let world = try World()
        let kept = world.directory.path("kept")
        let delegate = Recorder { try? FileManager.default.moveItem(at: $0, to: URL(filePath: kept)) }
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        session.downloadTask(with: url()).resume()
        try world.service.end(1, content: "one")
        try await delegate.heard.wait(for: "the first end") { $0.last == "1 completed" }
        #expect(try String(contentsOfFile: kept, encoding: .utf8) == "one")
        try FileManager.default.removeItem(atPath: kept)
        try world.service.end(2, content: "two")
        try await world.service.state.wait(for: "acknowledgements") { $0.acknowledged.count == 2 }
        for location in delegate.locations.read({ $0 }) {
            #expect(!FileManager.default.fileExists(atPath: location.path))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: world.directory.path("state/files")) == [])
        session.invalidateAndCancel()
    }

    @Test func `T9: A 404 response is a result with its body as the file`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        task.resume()
        try world.service.end(1, status: 404, content: "not here")
        try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
        #expect(delegate.heard.read { $0.contains("1 finished 'not here'") })
        #expect((task.response as? HTTPURLResponse)?.statusCode == 404)
        session.invalidateAndCancel()
    }

    @Test func `T7: An upload first reports its body's progress, then the response's body`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let file = try world.directory.write("12345678", to: "body")
        var request = URLRequest(url: url())
        request.httpMethod = "PUT"
        let task = session.uploadTask(with: request, fromFile: URL(filePath: file))
        #expect(task.countOfBytesExpectedToSend == 8)
        task.resume()
        #expect(world.service.state.read { $0.requests[1]?.request.source } == file)
        world.service.progress(1, sent: 8, ofSent: 8)
        try await delegate.heard.wait(for: "progress") { $0.count == 1 }
        try world.service.end(1, content: "thanks")
        #expect(try await delegate.heard.are(["1 sent 8, 8/8", "1 received 'thanks'", "1 completed"]))
        session.invalidateAndCancel()
    }

    @Test func `T7: A later process gets missed messages once and in order`() async throws {
        let world = try World()
        let process = world.process()
        let early = process.session(Recorder())
        for priority: Float in [0.25, 0.75] {
            let task = early.downloadTask(with: url())
            task.priority = priority
            task.taskDescription = "photo \(priority)"
            task.resume()
        }
        process.die()
        try world.service.end(1, content: "one")
        let delegate = Recorder()
        let session = world.process().session(delegate)
        #expect(try await delegate.heard.are(["1 finished 'one'", "1 completed"]))
        let tasks = await session.allTasks
        #expect(tasks.map(\.taskIdentifier) == [2])
        #expect(tasks.first?.priority == 0.75)
        #expect(tasks.first?.taskDescription == "photo 0.75")
        #expect(tasks.first?.originalRequest?.url == url())
        #expect(tasks.first?.state == .running)
        #expect(session.downloadTask(with: url()).taskIdentifier == 3)
        session.invalidateAndCancel()
    }

    /// The process ends between the callback and the acknowledgement. The file of handled messages contains the
    /// message.
    @Test func `T7: The library does not deliver a message again whose acknowledgement was lost`() async throws {
        let world = try World()
        let path = "/v1/process/sessions/org.example.photos"
        let refusal = Problem(type: "/problems/invalid", title: "Not now", status: 422)
        world.service.state.update { $0.refusals["POST \(path)/acknowledge"] = refusal }
        let first = Recorder()
        let process = world.process()
        let early = process.session(first)
        early.downloadTask(with: url()).resume()
        early.downloadTask(with: url()).resume()
        try world.service.end(1)
        try await world.service.state.wait(for: "an attempt") { $0.log.contains("POST \(path)/acknowledge") }
        let folder = world.directory.path("state/delivered")
        let record = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "files" }
        try #require(record == ["%2Fapp%3Aorg.example.photos"])
        #expect(try String(contentsOfFile: "\(folder)/\(record[0])", encoding: .utf8) == "1\n")
        process.die()
        world.service.state.update { $0.refusals = [:] }
        try world.service.end(2, content: "two")
        let second = Recorder()
        let session = world.process().session(second)
        #expect(try await second.heard.are(["2 finished 'two'", "2 completed"]))
        try await world.service.state.wait(for: "both acknowledgements") { Set($0.acknowledged) == [1, 2] }
        session.invalidateAndCancel()
    }

    /// The process ends during the callback. The file of handled messages does not contain the message, so the library
    /// delivers it again.
    @Test func `T7: The library delivers a message again, with its file, if its callback did not return`() async throws
    {
        let world = try World()
        let gate = DispatchSemaphore(value: 0)
        let isInside = Watched(false)
        let dying = Recorder { file in
            try? FileManager.default.removeItem(at: file)
            isInside.update { $0 = true }
            gate.wait()
        }
        let process = world.process()
        process.session(dying).downloadTask(with: url()).resume()
        try world.service.end(1)
        try await isInside.wait(for: "the callback") { $0 }
        process.die()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        #expect(try await delegate.heard.are(["1 finished 'content'", "1 completed"]))
        gate.signal()
        session.invalidateAndCancel()
    }

    /// Creates a download whose file cannot be handed over, because a regular file has the path of the folder for it.
    ///
    /// - Returns: The task, and the path of that file.
    private func blockedDownload(_ world: World, _ session: URLSession) async throws -> (URLSessionTask, String) {
        let task = session.downloadTask(with: url())
        task.resume()
        let links = world.directory.path("state/delivered/files/%2Fapp%3Aorg.example.photos")
        try await eventually("the folder of the session") { FileManager.default.fileExists(atPath: links) }
        try FileManager.default.removeItem(atPath: links)
        try Data().write(to: URL(filePath: links))
        return (task, links)
    }

    @Test func `T7: A finished file is delivered after a temporary error in the app's process`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let (task, links) = try await blockedDownload(world, session)
        let message = try world.service.end(1)
        try await eventually("the end has come") { task.response != nil }
        #expect(delegate.heard.read { $0 } == [])
        #expect(world.service.state.read { $0.acknowledged } == [])
        try FileManager.default.removeItem(atPath: links)
        #expect(try await delegate.heard.are(["1 wrote 7, 7/7", "1 finished 'content'", "1 completed"]))
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledged == [message] }
        session.invalidateAndCancel()
    }

    @Test func `T7: A session that is cancelled ends although a finished file cannot be handed over`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let (task, _) = try await blockedDownload(world, session)
        try world.service.end(1)
        try await eventually("the end has come") { task.response != nil }
        session.invalidateAndCancel()
        #expect(try await delegate.heard.are(["1 completed \(NSURLErrorCancelled)", "invalid"]))
    }

    @Test func `T7: A task whose finished file no longer exists fails at once`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        world.service.change(1) { task in
            task.task.state = .completed
            task.task.file = world.directory.path("state/files/gone")
        }
        let message = world.service.push(.ended, 1)
        #expect(try await delegate.heard.are(["1 completed -3001"]))
        try await world.service.state.wait(for: "the acknowledgement") { $0.acknowledged == [message] }
        session.invalidateAndCancel()
    }

    @Test func `T7: An upload completes only once its response can be read`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let file = try world.directory.write("body", to: "body")
        let task = session.uploadTask(with: URLRequest(url: url()), fromFile: URL(filePath: file))
        task.resume()
        // The link points to a directory, which cannot be read as a file.
        let answer = world.directory.path("state/files/answer")
        try FileManager.default.createSymbolicLink(atPath: answer, withDestinationPath: world.directory.path("state"))
        world.service.change(1) { task in
            task.task.state = .completed
            task.task.file = answer
            task.task.response = ResponseSummary(status: 200, headers: [], httpVersion: "1.1")
        }
        world.service.push(.ended, 1)
        try await eventually("the end has come") { task.response != nil }
        #expect(delegate.heard.read { $0 } == [])
        let next = world.directory.path("next")
        try FileManager.default.createSymbolicLink(
            atPath: next, withDestinationPath: world.directory.write("thanks", to: "thanks"))
        // The test replaces the link atomically, because a missing response would count as lost.
        #expect(rename(next, answer) == 0)
        #expect(try await delegate.heard.are(["1 received 'thanks'", "1 completed"]))
        session.invalidateAndCancel()
    }

    @Test func `T7: A message that the app removes from its queue is queued again before later ones`()
        async throws
    {
        let world = try World()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let delegate = Recorder()
        let session = world.process().session(delegate, queue: queue)
        for _ in 1...2 { session.downloadTask(with: url()).resume() }
        queue.isSuspended = true
        try world.service.end(1)
        try await eventually("the message in the queue") { queue.operationCount == 1 }
        queue.cancelAllOperations()
        queue.isSuspended = false
        try world.service.end(2)
        try await delegate.heard.wait(for: "both ends") { $0.filter { $0.hasSuffix("completed") }.count == 2 }
        #expect(delegate.heard.read { $0.filter { $0.hasSuffix("completed") } } == ["1 completed", "2 completed"])
        try await world.service.state.wait(for: "their acknowledgement") { $0.acknowledged == [1, 2] }
        session.invalidateAndCancel()
    }

    @Test func `T7: The library delivers one message at a time and acknowledges it after the callback`()
        async throws
    {
        let world = try World()
        let gate = DispatchSemaphore(value: 0)
        let isInside = Watched(0)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 8
        queue.name = "the app's"
        let names = Watched<[String]>([])
        let delegate = Recorder { _ in
            names.update { $0.append(OperationQueue.current?.name ?? "none") }
            isInside.update { $0 += 1 }
            gate.wait()
        }
        let session = world.process().session(delegate, queue: queue)
        #expect(session.delegateQueue === queue)
        for _ in 1...2 { session.downloadTask(with: url()).resume() }
        try world.service.end(1)
        try world.service.end(2)
        try await isInside.wait(for: "the first callback") { $0 == 1 }
        #expect(world.service.state.read { $0.acknowledged } == [])
        gate.signal()
        try await world.service.state.wait(for: "its acknowledgement") { $0.acknowledged == [1] }
        try await isInside.wait(for: "the second callback") { $0 == 2 }
        gate.signal()
        try await world.service.state.wait(for: "its acknowledgement") { $0.acknowledged == [1, 2] }
        #expect(names.read { $0 } == ["the app's", "the app's"])
        session.invalidateAndCancel()
    }

    @Test func `T7: A download from resume data reports the offset from which it continues`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        task.resume()
        world.service.change(1) { task in
            task.task.countOfBytesReceived = 3
            task.task.response = ResponseSummary(
                status: 200, headers: [HeaderField(name: "etag", value: "\"v1\"")], httpVersion: "1.1")
        }
        let data = try #require(await task.cancelByProducingResumeData())
        try await delegate.heard.wait(for: "its end") { $0.last == "1 completed -999" }
        let error = try #require(delegate.errors.read { $0[1] } as? URLError)
        #expect(error.downloadTaskResumeData == data)
        #expect(error.userInfo["NSURLSessionDownloadTaskResumeData"] as? Data == data)

        let list = try #require(
            try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
        #expect(list["NSURLSessionResumeInfoVersion"] as? Int == 2)
        #expect(list["NSURLSessionDownloadURL"] as? String == "http://example.org/file")
        #expect(list["NSURLSessionResumeBytesReceived"] as? Int == 3)
        #expect(list["NSURLSessionResumeEntityTag"] as? String == "\"v1\"")

        let next = session.downloadTask(withResumeData: data)
        #expect(next.originalRequest?.url == url())
        next.resume()
        #expect(world.service.state.read { $0.requests[2]?.request.resumeData } == world.service.token(100))
        world.service.change(2) { $0.resumedAt = 3 }
        world.service.push(.resumed, 2)
        try world.service.end(2)
        try await delegate.heard.wait(for: "its end") { $0.last == "2 completed" }
        #expect(
            delegate.heard.read { $0.dropFirst() } == [
                "2 resumed at 3/-1", "2 wrote 4, 7/7", "2 finished 'content'", "2 completed",
            ])
        session.invalidateAndCancel()
    }

    /// A progress report is not a message. It can arrive before the message with the offset, and again after it.
    @Test(arguments: [0, 3] as [Int64])
    func `T7: Bytes received before the resume data was made never count as written`(offset: Int64) async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        task.resume()
        world.service.change(1) { $0.task.countOfBytesReceived = 3 }
        let data = try #require(await task.cancelByProducingResumeData())
        try await delegate.heard.wait(for: "its end") { $0.last == "1 completed -999" }
        let next = session.downloadTask(withResumeData: data)
        next.resume()
        world.service.progress(2, received: 3, of: 7)
        try await eventually("the count") { next.countOfBytesReceived == 3 }
        world.service.change(2) { task in
            // The offset is 0 if the server's file has changed and the download has restarted.
            task.resumedAt = offset
            task.task.countOfBytesReceived = offset
            task.task.countOfBytesExpectedToReceive = 7
        }
        world.service.push(.resumed, 2)
        world.service.progress(2, received: offset, of: 7)
        world.service.progress(2, received: 5, of: 7)
        try await delegate.heard.wait(for: "progress") { $0.count >= 3 }
        try world.service.end(2)
        try await delegate.heard.wait(for: "its end") { $0.last == "2 completed" }
        #expect(
            delegate.heard.read { $0.dropFirst() } == [
                "2 resumed at \(offset)/7", "2 wrote \(5 - offset), 5/7", "2 wrote 2, 7/7", "2 finished 'content'",
                "2 completed",
            ])
        session.invalidateAndCancel()
    }

    @Test func `T7: The library removes records of messages that the service no longer has`() async throws {
        let world = try World()
        let folder = world.directory.path("state/delivered")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // A crash has truncated the last line.
        let record = try world.directory.write("1\n2\n3\n4", to: "state/delivered/%2Fapp%3Aorg.example.photos")
        let delegate = Recorder()
        world.service.state.update { $0.lastID = 3 }
        let session = world.process().session(delegate)
        session.downloadTask(with: url()).resume()
        try world.service.end(1)
        try await delegate.heard.wait(for: "message 4") { $0.last == "1 completed" }
        try await eventually("nothing is noted") { !FileManager.default.fileExists(atPath: record) }
    }

    @Test func `T7: A record truncated by a full disk is not mistaken for another message's record`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let paths = ServicePaths(
                environment: ["NIGHTSHIFT_HOME": directory.path], homeDirectory: URL(filePath: directory.path))
            let session = SessionID(rawValue: "/app:photos")
            let folder = DeliveryFolder(paths, session: session)
            folder.note(1_234)
            // The limit leaves space for two more bytes.
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit()
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            let isKnown = getrlimit(resource, &limit) == 0
            let most = limit.rlim_cur
            limit.rlim_cur = 7
            let isSet = setrlimit(resource, &limit) == 0
            try #require(isKnown && isSet)
            folder.note(9_012)
            limit.rlim_cur = most
            let isLifted = setrlimit(resource, &limit) == 0
            try #require(isLifted)
            folder.note(3_456)
            let noted = DeliveryFolder(paths, session: session).handled
            try #require(noted == [1_234, 3_456])
            withExtendedLifetime(directory) {}
        }
    }

    @Test func `T7: A session that is about to end gives its delegate the missed messages first`() async throws {
        let world = try World()
        let process = world.process()
        process.session(Recorder()).downloadTask(with: url()).resume()
        process.die()
        try world.service.end(1)
        let delegate = Recorder()
        world.process().session(delegate).finishTasksAndInvalidate()
        #expect(try await delegate.heard.are(["1 finished 'content'", "1 completed", "invalid"]))
    }
}
