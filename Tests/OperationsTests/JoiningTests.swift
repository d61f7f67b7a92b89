import Foundation
import NightshiftAPI
import Operations
import TestSupport
import Testing
import Transfers

/// Tests of several requests for one file.
@Suite(.timeLimit(.minutes(20))) struct JoiningTests {
    private func request(_ folder: TemporaryDirectory, _ ifTaken: TakenName, url: String = "http://a.example/1")
        -> EnqueueRequest
    {
        var task = TaskRequest(url: url)
        task.destination = Destination(directory: folder.path(""), filename: "f", ifTaken: ifTaken)
        return EnqueueRequest(tasks: [task])
    }

    @Test func `T8: Many concurrent requests for one file share one task`() async throws {
        let scene = try await OperationScene()
        let folder = try TemporaryDirectory()
        let request = request(folder, .join)
        let operations = scene.operations
        let answers = try await withThrowingTaskGroup(of: EnqueueResponse.self) { group in
            for _ in 0..<16 { group.addTask { try await operations.accept(request) } }
            return try await group.reduce(into: [EnqueueResponse]()) { $0.append($1) }
        }
        #expect(Set(answers.flatMap(\.ids)).count == 1)
        #expect(answers.filter { $0.joined == nil }.count == 1)
        #expect(answers.filter { $0.joined == answers[0].ids }.count == 15)
        try await scene.end()
    }

    @Test func `T8: Only one of several callers with different URLs for one file is accepted`() async throws {
        let scene = try await OperationScene()
        let folder = try TemporaryDirectory()
        let operations = scene.operations
        var (accepted, refused): ([TaskID], [Problem]) = ([], [])
        await withTaskGroup(of: Result<EnqueueResponse, Problem>.self) { group in
            for number in 0..<8 {
                let request = request(folder, .join, url: "http://a.example/\(number)")
                group.addTask {
                    do throws(Problem) {
                        return .success(try await operations.accept(request))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            for await result in group {
                switch result {
                case .success(let answer): accepted += answer.ids
                case .failure(let problem): refused.append(problem)
                }
            }
        }
        let id = try #require(accepted.first)
        #expect(accepted.count == 1 && refused.count == 7)
        #expect(refused.allSatisfy { $0.status == 409 && $0.detail?.contains("Transfer \(id) is already") == true })

        // A task that was cancelled does not reserve its name.
        _ = try await scene.transfers.cancel(id, producingResumeData: false)
        #expect(try await operations.accept(request(folder, .refuse)).joined == nil)
        try await scene.end()
    }

    @Test func `T8: A request for a file that exists is refused before any transfer`() async throws {
        let scene = try await OperationScene()
        let folder = try TemporaryDirectory()
        try Data("old".utf8).write(to: URL(filePath: folder.path("f")))
        let problem = try await problem { try await scene.operations.accept(request(folder, .join)) }
        #expect(problem.status == 409 && problem.detail?.hasSuffix("/f already exists.") == true)
        #expect(try await scene.operations.accept(request(folder, .number)).ids.count == 1)
        try await scene.end()
    }

    private func unnamed(
        _ folder: TemporaryDirectory, _ ifSame: SameTask? = .join, _ change: (inout TaskRequest) -> Void = { _ in }
    ) -> EnqueueRequest {
        var task = TaskRequest(url: "http://a.example/1")
        task.destination = Destination(directory: folder.path(""))
        task.ifSame = ifSame
        change(&task)
        return EnqueueRequest(tasks: [task])
    }

    @Test func `An equal request without a name returns the running task until that task has ended`()
        async throws
    {
        let scene = try await OperationScene()
        let folder = try TemporaryDirectory()
        let operations = scene.operations
        let first = try await operations.accept(unnamed(folder))
        #expect(first.joined == nil)
        let second = try await operations.accept(unnamed(folder) { $0.rateLimit = 5 })
        #expect(second.ids == first.ids && second.joined == first.ids)
        // None of these requests joins the task: one has a different URL, one a different folder, and one does not ask
        // to join.
        #expect(try await operations.accept(unnamed(folder) { $0.url = "http://a.example/2" }).joined == nil)
        #expect(try await operations.accept(unnamed(folder) { $0.destination = nil }).joined == nil)
        #expect(try await operations.accept(unnamed(folder, nil)).joined == nil)
        _ = try await scene.transfers.cancel(first.ids[0], producingResumeData: false)
        #expect(try await operations.accept(unnamed(folder)).joined == nil)
        try await scene.end()
    }

    @Test func `Each of several equal requests in one call gets a task of its own`() async throws {
        let scene = try await OperationScene()
        let folder = try TemporaryDirectory()
        var request = unnamed(folder)
        request.tasks += request.tasks
        let first = try await scene.operations.accept(request)
        #expect(Set(first.ids).count == 2 && first.joined == nil)
        let second = try await scene.operations.accept(request)
        #expect(second.ids == first.ids && second.joined == first.ids)
        try await scene.end()
    }

    @Test func `joinSuspended joins only a task that is suspended`() async throws {
        let scene = try await OperationScene()
        let folder = try TemporaryDirectory()
        let request = unnamed(folder, .joinSuspended) { $0.destination = nil }
        let first = try await scene.operations.accept(request)
        let other = try await scene.operations.accept(request)
        #expect(other.joined == nil && other.ids != first.ids)
        _ = try await scene.transfers.suspend(first.ids[0])
        #expect(try await scene.operations.accept(request).joined == first.ids)
        try await scene.end()
    }

    @Test func `T8: A request joins a task only if both have the same client data`() async throws {
        let scene = try await OperationScene()
        let folder = try TemporaryDirectory()
        let request = unnamed(folder, .join) { $0.clientData = "1" }
        let first = try await scene.operations.accept(request)
        #expect(try await scene.operations.accept(request).joined == first.ids)
        #expect(try await scene.operations.accept(unnamed(folder, .join) { $0.clientData = "2" }).joined == nil)
        #expect(try await scene.operations.accept(unnamed(folder, .join) { _ in }).joined == nil)
        try await scene.end()
    }

    @Test func `A new request joins an upload only while the file is unchanged`() async throws {
        let scene = try await OperationScene()
        let folder = try TemporaryDirectory()
        let file = URL(filePath: folder.path("f"))
        try Data("one".utf8).write(to: file)
        var task = TaskRequest(kind: .upload, url: "http://a.example/1")
        task.source = file.path
        task.ifSame = .join
        let request = EnqueueRequest(tasks: [task])
        let first = try await scene.operations.accept(request)
        #expect(try await scene.operations.accept(request).joined == first.ids)
        try Data("other".utf8).write(to: file)
        #expect(try await scene.operations.accept(request).joined == nil)
        try await scene.end()
    }
}
