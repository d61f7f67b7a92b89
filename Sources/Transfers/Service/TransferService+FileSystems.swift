import Clock
import Foundation
import Glibc
import Logging
import Mounts
import NightshiftAPI
import Store

/// Calls to file systems other than the service's own, and the handling of transfers whose file systems do not respond.
extension TransferService {
    /// An abandoned exchange. Its file system did not respond when the task had to stop.
    struct LeftExchange {
        let task: TaskID
        let place: FileSystemKey
        /// The positions of the exchange's connections that have not ended.
        var positions: [ByteMeter]
        /// The files to close when the last connection has ended.
        var files: Set<Int32>
        /// The files of an upload.
        var sources: UploadFiles?
    }

    // MARK: - The file system of a task

    /// Returns the file system of a task's files; nil for the service's own file system.
    nonisolated func fileSystem(of record: TaskRecord) -> FileSystemKey? {
        // A partial file is never a link, so the lookup uses its folder, which many files share.
        let paths =
            record.kind == .upload
            ? record.sentFiles?.files.map(\.path) ?? []
            : [
                record.request.destination?.directory,
                record.partial.map { ($0.path as NSString).deletingLastPathComponent },
            ].compactMap(\.self)
        for path in paths {
            if let place = fileSystems.place(of: path) { return place }
        }
        return nil
    }

    func fileSystem(ofFinishing id: TaskID) -> FileSystemKey? { finishing.place(of: id) }

    // MARK: - Calls

    /// Runs `body` on the thread for the file system. For the service's own file system, runs it at once on the calling
    /// thread.
    ///
    /// - Returns: nil if the service stops before another file system responds.
    @discardableResult
    func onFileSystem<Value: Sendable>(
        _ place: FileSystemKey?, _ work: FileSystems.Work, _ path: String,
        _ body: @escaping @Sendable () -> Value
    ) async -> Value? {
        guard let place else { return body() }
        return await fileSystems.run(place, work, path, body)
    }

    /// Closes a file and returns at once. Some file systems write data when a file is closed.
    nonisolated func closeFile(_ file: Int32?, at place: FileSystemKey?) {
        guard let file, file >= 0 else { return }
        guard let place else {
            close(file)
            return
        }
        fileSystems.post(place, .files, path(of: file)) { close(file) }
    }

    /// Returns the path of an open file, for display. The kernel returns the path without accessing the file system.
    nonisolated func path(of file: Int32) -> String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(file)")) ?? "an open file"
    }

    /// Removes files. Returns at once if the files may be on another file system.
    func removeSoon(_ record: TaskRecord, _ body: @escaping @Sendable () -> Void) {
        guard let place = fileSystem(of: record) else { return body() }
        fileSystems.post(place, .files, record.partial?.path ?? record.request.destination?.directory ?? "", body)
    }

    // MARK: - Abandoned exchanges

    /// Abandons the exchange of a stopping task after a short time if another file system has not responded.
    func leaveSoon(_ id: TaskID) {
        guard let transfer = active[id], transfer.place != nil, transfer.run.canBeLeft else { return }
        let wishes = transfer.wishes
        reporting.yield { service in
            let until = service.now.bootSeconds + Self.leavingSeconds
            try? await service.environment.clock.sleep(untilBootSeconds: until)
            await service.leave(id, wishes)
        }
    }

    private func leave(_ id: TaskID, _ wishes: OwnerRequests) async {
        guard let transfer = active[id], transfer.wishes === wishes, transfer.run.canBeLeft, let place = transfer.place
        else { return }
        switch transfer.exchange {
        // A file that is being synced or truncated has no exchange to abandon.
        case _ where transfer.run.phase != .exchanging, .starting: break
        case .download(let receiver, _):
            leftExchanges.append(LeftExchange(task: id, place: place, positions: [receiver.position], files: []))
        case .segments(let segments):
            segments.look.cancel()
            guard !segments.connections.isEmpty else {
                closeFile(segments.descriptor, at: place)
                break
            }
            leftExchanges.append(
                LeftExchange(
                    task: id, place: place, positions: segments.connections.values.map(\.position),
                    files: [segments.descriptor]))
        case .upload(let receiver, _, let files):
            leftExchanges.append(
                LeftExchange(task: id, place: place, positions: [receiver.sent], files: [], sources: files))
        }
        active[id]?.exchange = .starting
        await tell(id) { $0.left($1, &$2) }
    }

    /// Handles the end of a connection of an abandoned exchange.
    func leftEnded(_ position: ByteMeter, _ files: [Int32] = []) async {
        guard let index = leftExchanges.firstIndex(where: { $0.positions.contains { $0 === position } }) else { return }
        leftExchanges[index].positions.removeAll { $0 === position }
        leftExchanges[index].files.formUnion(files)
        guard leftExchanges[index].positions.isEmpty else { return }
        let left = leftExchanges.remove(at: index)
        for file in left.files { closeFile(file, at: left.place) }
        if let sources = left.sources { fileSystems.post(left.place, .files, "the upload's files") { sources.close() } }
        await schedule()
    }

    /// Handles the end of an abandoned upload after its files were closed.
    func leftClosed(_ position: ByteMeter) async {
        leftExchanges.removeAll { left in left.positions.contains { $0 === position } }
        await schedule()
    }

    /// Returns whether an abandoned exchange may still write bytes for a task.
    func isLeft(_ id: TaskID) -> Bool { leftExchanges.contains { $0.task == id } }

    /// The number of seconds that a stopping task waits for its file system: longer than a working file system needs,
    /// and too short for people to notice.
    private static let leavingSeconds: Double = 0.4

    // MARK: - Silent file systems

    func fileSystemsChanged(_ change: FileSystems.Change) async {
        switch change {
        case .callBegan: watchFileSystems()
        case .answersAgain:
            do {
                try await store.write { try $0.endWaits(for: .destinationSilent) }
            } catch {
                storeFailed(error)
            }
            await schedule()
        }
    }

    private func watchFileSystems() {
        guard timers.silence == nil, !isStopping, fileSystems.nextDeadline != nil else { return }
        timers.silence = Task { await self.watchForSilence() }
    }

    private func watchForSilence() async {
        while !isStopping, let next = fileSystems.nextDeadline {
            guard (try? await environment.clock.sleep(untilBootSeconds: next)) != nil else { break }
            let found = fileSystems.look()
            guard !found.isEmpty else { continue }
            for place in found {
                guard let silence = fileSystems.silence(of: place) else { continue }
                logger.warning("A file system does not respond", metadata: ["path": "\(silence.path)"])
            }
            // The tasks of silent file systems no longer use connection slots.
            await schedule()
        }
        timers.silence = nil
        watchFileSystems()
    }

    /// Checks that the transport's threads for other file systems respond. Called once a second while these threads are
    /// in use.
    func askThreads() {
        for transfer in active.values {
            guard let place = transfer.place, transfer.run.phase == .exchanging,
                awaitedThreads.insert(place).inserted
            else { continue }
            let path = transfer.record.partial?.path ?? transfer.record.request.destination?.directory ?? ""
            let call = fileSystems.begin(place, path)
            environment.transport.answer(from: place) { [fileSystems, reporting] in
                fileSystems.end(call)
                reporting.yield { await $0.threadAnswered(place) }
            }
        }
    }

    private func threadAnswered(_ place: FileSystemKey) {
        awaitedThreads.remove(place)
    }

    /// Returns the wait of a task whose file system does not respond; nil if the file system responds.
    func silentWait(at place: FileSystemKey?, _ now: ClockReading) -> Wait? {
        fileSystems.silence(of: place).map { silence in
            Wait(
                reason: .destinationSilent, since: now.wallTime(ofBootSeconds: silence.since),
                detail: TransferFailure.silentDestination(silence, now).message)
        }
    }

    /// The transfers that use a connection slot. Transfers on a silent file system are not included, so that they do
    /// not prevent others from starting.
    var placeHolders: [ActiveTransfer] {
        let silent = fileSystems.silences
        guard !silent.isEmpty else { return Array(active.values) }
        return active.values.filter { $0.place.map { silent[$0] == nil } ?? true }
    }

    // MARK: - Stopping

    /// Waits briefly for files that are being published on other file systems.
    func waitForOtherFileSystems() async {
        let waiting = finishing.tasks.filter { fileSystem(ofFinishing: $0) != nil }
        guard !waiting.isEmpty else { return }
        let until = now.bootSeconds + Self.leavingSeconds
        reporting.yield { service in
            try? await service.environment.clock.sleep(untilBootSeconds: until)
            await service.giveUpFileSystems()
        }
        for id in waiting { await quiet(id) }
    }

    private func giveUpFileSystems() {
        fileSystems.giveUp()
        for id in finishing.tasks where fileSystem(ofFinishing: id) != nil {
            finishing.end(id)
            claims.wakeWaiters(for: id)
        }
    }
}

extension TransferFailure {
    /// Returns the failure for a call to the file system that has not returned yet.
    static func silentDestination(_ silence: HangWatch.Silence, _ now: ClockReading) -> TransferFailure {
        let since = now.wallTime(ofBootSeconds: silence.since).formatted(.iso8601)
        return TransferFailure(
            .inputOutput,
            "\(silence.path) has not responded since \(since). The transfer continues when it responds. If its "
                + "server or device is gone, "
                + "unmount it or cancel the transfer.")
    }
}
