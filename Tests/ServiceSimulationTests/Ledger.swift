import Foundation
import NightshiftAPI
import SimulationSupport
import Transfers

/// A record of the requests that the service has accepted. The service may not lose any of them.
struct Ledger {
    struct Entry {
        var url: String
        /// A mark that identifies this task's requests and file.
        var mark: String
        var destination: String?
        var isSuspended = false
        /// The task's status when it was last read after its end.
        var end: TaskStatus?
    }

    var entries: [TaskID: Entry] = [:]
    /// The URLs by mark. They include those of tasks whose acceptance was never confirmed.
    var urls: [String: String] = [:]
    /// The new URLs that were requested for tasks, by mark. If the service died in the meantime, it is unknown whether
    /// a task got its new URL.
    var laterURLs: [String: Set<String>] = [:]
    /// The mirrors by mark.
    var mirrors: [String: Set<String>] = [:]
    private var marks = 0

    mutating func nextMark(_ url: String) -> String {
        marks += 1
        let mark = "file-\(marks)"
        urls[mark] = url
        return mark
    }

    /// The tasks that are not known to have ended.
    var open: [TaskID] { entries.filter { $0.value.end == nil }.map(\.key).sorted() }
    var ended: [TaskID] { entries.filter { $0.value.end != nil }.map(\.key).sorted() }
}

extension World {
    /// Returns a download request. A mark identifies its file and its HTTP requests.
    func request(
        _ url: String, session: String = "terminal", priority: Double? = nil, kept: Bool = false,
        adjust: (inout TaskRequest) -> Void = { _ in }
    ) -> TaskRequest {
        let mark = ledger.nextMark(url)
        var request = TaskRequest(url: url)
        request.headers = [
            HeaderField(name: RequestRecorder.sessionField, value: session),
            HeaderField(name: RequestRecorder.markField, value: mark),
        ]
        request.priority = priority
        request.retryPolicy = .transientResponses
        request.failsOnHTTPError = true
        if !kept { request.destination = Destination(directory: downloads, filename: mark) }
        // A test that needs several connections requests them explicitly.
        request.connections = 1
        adjust(&request)
        if request.kind == .upload { request.connections = nil }
        ledger.mirrors[mark] = request.mirrors.map(Set.init)
        request.headers?.append(
            HeaderField(name: RequestRecorder.connectionsField, value: request.connections.map { "\($0)" } ?? "any"))
        return request
    }

    /// Enqueues the requests and records the accepted tasks.
    @discardableResult
    func enqueue(_ requests: [TaskRequest], session: String = "terminal") async -> [TaskID] {
        let answer = await call { [service] () -> Result<[TaskID], Problem> in
            do throws(Problem) {
                return .success(
                    try await service.enqueue(EnqueueRequest(session: SessionID(rawValue: session), tasks: requests)))
            } catch {
                return .failure(error)
            }
        }
        switch answer {
        case nil: return []
        case .failure(let problem):
            if !commits.hasFailed { fail("The request was refused: \(problem)") }
            return []
        case .success(let ids):
            for (id, request) in zip(ids, requests) {
                let mark = request.headers?.first(RequestRecorder.markField) ?? ""
                ledger.entries[id] = Ledger.Entry(
                    url: ledger.urls[mark] ?? "", mark: mark,
                    destination: request.destination.map { "\($0.directory)/\(mark)" },
                    isSuspended: request.suspended ?? false)
            }
            return ids
        }
    }

    @discardableResult
    func enqueue(_ request: TaskRequest, session: String = "terminal") async -> TaskID {
        await enqueue([request], session: session).first ?? TaskID(0)
    }

    /// Performs an action on a task. Returns nil if the service refused the action.
    @discardableResult
    func act(
        _ id: TaskID, _ verb: @escaping @Sendable (TransferService) async throws(Problem) -> TaskStatus
    ) async -> TaskStatus? {
        let answer = await call { [service] () -> Result<TaskStatus, Problem> in
            do throws(Problem) {
                return .success(try await verb(service))
            } catch {
                return .failure(error)
            }
        }
        guard case .success(let status)? = answer else { return nil }
        return status
    }

    @discardableResult
    func suspend(_ id: TaskID) async -> TaskStatus? {
        let status = await act(id) { service throws(Problem) in try await service.suspend(id) }
        if status?.state == .suspended { ledger.entries[id]?.isSuspended = true }
        return status
    }

    @discardableResult
    func resume(_ id: TaskID) async -> TaskStatus? {
        // From here on the task may run, even if the response is an error.
        ledger.entries[id]?.isSuspended = false
        return await act(id) { service throws(Problem) in try await service.resume(id) }
    }

    @discardableResult
    func cancel(_ id: TaskID, keeping: Bool = false) async -> TaskStatus? {
        await act(id) { service throws(Problem) in try await service.cancel(id, producingResumeData: keeping) }
    }

    @discardableResult
    func change(_ id: TaskID, _ change: TaskChange) async -> TaskStatus? {
        await act(id) { service throws(Problem) in try await service.change(id, change) }
    }

    /// Gives the task another URL. Returns nil if the service refused it.
    @discardableResult
    func retarget(_ id: TaskID, to url: String) async -> TaskStatus? {
        guard let mark = ledger.entries[id]?.mark else { return nil }
        ledger.laterURLs[mark, default: []].insert(url)
        if ledger.entries[id]?.end?.state == .failed { ledger.entries[id]?.end = nil }
        return await act(id) { service throws(Problem) in try await service.retarget(id, RetargetRequest(url: url)) }
    }

    func remove(_ id: TaskID) async {
        let removed = await call { [service] in
            do {
                try await service.remove(id)
                return true
            } catch {
                return false
            }
        }
        if removed == true { ledger.entries[id] = nil }
    }

    func status(_ id: TaskID) async -> TaskStatus? {
        try? await service.task(id)
    }

    /// Returns all journal entries so far.
    func journal() async -> [JournalEntry] {
        (try? await service.journal(JournalQuery(limit: Limits.pageSize)).entries) ?? []
    }
}
