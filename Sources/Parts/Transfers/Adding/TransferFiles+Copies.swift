import Clock
import Mounts
import NightshiftAPI
import Store
import Synchronization

/// Copies of upload files, made before their tasks are accepted.
extension TransferFiles {
    /// Copies the files of uploads that have no copy yet.
    ///
    /// - Returns: the new copies, which must be removed if the tasks are not accepted.
    func takeCopies(of records: inout [TaskRecord]) async throws(Problem) -> [UploadSource] {
        let wanted = records.indices.filter {
            records[$0].sentFiles?.files.contains { !$0.isSnapshot } == true
        }
        guard !wanted.isEmpty else { return [] }
        var taken: [UploadSource] = []
        for index in wanted {
            let (files, policy) = (records[index].sentFiles, records[index].request.snapshot ?? .reflink)
            guard let files else { continue }
            let path = files.files.first?.path ?? ""
            let copied = await run(at: systems.place(of: path), .source, path, on: disks.copy) {
                sources.copy(files, policy)
            } late: {
                if case .success(let copy?) = $0 { sources.remove(copy) }
            }
            guard let result = copied else {
                for source in taken { sources.remove(source) }
                throw .unavailable("The service is stopping.")
            }
            do throws(TransferFailure) {
                guard let copy = try result.get() else { continue }
                records[index].uploadSource = copy
                taken.append(copy)
            } catch {
                for source in taken { sources.remove(source) }
                let field = records[index].request.form == nil ? "source" : "form"
                throw .invalid(error.message, pointer: "/tasks/\(index)/\(field)")
            }
        }
        return taken
    }

    /// Checks on separate threads that the file systems of a task's upload files respond, before other code accesses
    /// these files.
    ///
    /// - Throws: a problem that names a path whose file system does not respond.
    func expectSources(of task: TaskRequest) async throws(Problem) {
        let paths = [task.source].compactMap(\.self) + (task.form ?? []).compactMap(\.source)
        for path in paths where !(await answers(path)) {
            throw .unavailable("The file system of '\(path)' does not respond. Try again when it responds.")
        }
    }

    /// Returns whether the file system of a path responds now. The service's own file system always counts as
    /// responding.
    func answers(_ path: String) async -> Bool {
        guard let place = systems.place(of: path) else { return true }
        guard systems.silence(of: place) == nil else { return false }
        return await answers(place, path)
    }

    /// Returns whether a file system responds before it counts as silent.
    private func answers(_ place: FileSystemKey, _ path: String) async -> Bool {
        await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let waiting = FirstAnswer(continuation)
            systems.post(place, .source, path) {
                _ = FileIdentity(path: path)
                waiting.resume(returning: true)
            }
            Task {
                let until = clock.now().bootSeconds + HangWatch.timeout
                try? await clock.sleep(untilBootSeconds: until)
                waiting.resume(returning: false)
            }
        }
    }
}

/// A continuation that several callers may resume; only the first call has an effect.
private final class FirstAnswer: Sendable {
    private let continuation: Mutex<CheckedContinuation<Bool, Never>?>

    init(_ continuation: CheckedContinuation<Bool, Never>) {
        self.continuation = Mutex(continuation)
    }

    func resume(returning value: Bool) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: value)
    }
}

extension SourceCopies {
    /// Copies all files of an upload, or none. If an optional copy cannot be made, the upload is accepted without it.
    fileprivate func copy(
        _ source: UploadSource, _ policy: SnapshotPolicy
    ) -> Result<UploadSource?, TransferFailure> {
        var copy = source
        copy.files = []
        do throws(TransferFailure) {
            for file in source.files {
                guard let taken = try self.copy(file, policy) else {
                    remove(copy)
                    return .success(nil)
                }
                copy.files.append(taken)
            }
            try syncNames()
            return .success(copy)
        } catch {
            remove(copy)
            return policy == .copy ? .failure(error) : .success(nil)
        }
    }
}
