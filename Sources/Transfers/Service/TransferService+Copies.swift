import NightshiftAPI
import Store

/// Copies of files to upload, made before their tasks are accepted.
extension TransferService {
    /// Takes copies for what is to be uploaded and has none.
    ///
    /// - Returns: the new ones, to be removed where the tasks are not accepted after all.
    nonisolated func takeCopies(of records: inout [TaskRecord]) async throws(Problem) -> [UploadSource] {
        let wanted = records.indices.filter {
            records[$0].sentFiles?.files.contains { !$0.isSnapshot } == true
        }
        guard !wanted.isEmpty else { return [] }
        var taken: [UploadSource] = []
        for index in wanted {
            let (files, policy) = (records[index].sentFiles, records[index].request.snapshot ?? .reflink)
            guard let files else { continue }
            let sources = sources
            let result = await disks.copy.run { sources.copy(files, policy) }
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
}

extension SourceCopies {
    /// Copies all files of an upload, or none. A copy that nobody asked for is no reason to refuse anything.
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
