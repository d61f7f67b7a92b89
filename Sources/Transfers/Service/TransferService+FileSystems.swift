import Clock
import Foundation
import Glibc
import Logging
import Mounts
import NightshiftAPI
import Store

/// File systems other than the service's own: calls to them, and what becomes of transfers when they do not answer.
extension TransferService {
    /// An exchange that nobody waits for, since its file system did not answer when its task was to stop.
    struct LeftExchange {
        let task: TaskID
        let place: FileSystemKey
        /// Of its connections that have not ended.
        var positions: [ByteMeter]
        /// To be closed when the last of them has ended.
        var files: Set<Int32>
        /// What an upload sends.
        var sources: UploadFiles?
    }

    // MARK: - Which

    /// The file system of a task's files; nil for the service's own.
    nonisolated func fileSystem(of record: TaskRecord) -> FileSystemKey? {
        // A partial file is no link: its folder says where it lies, and many share one.
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

    /// Runs `body` where calls to the file system belong: here for the service's own.
    ///
    /// - Returns: nil where the service stops before another file system has answered.
    @discardableResult
    func onFileSystem<Value: Sendable>(
        _ place: FileSystemKey?, _ work: FileSystems.Work, _ path: String,
        _ body: @escaping @Sendable () -> Value
    ) async -> Value? {
        guard let place else { return body() }
        return await fileSystems.run(place, work, path, body)
    }

    /// Closes a file; some file systems write then. Returns at once.
    nonisolated func closeFile(_ file: Int32?, at place: FileSystemKey?) {
        guard let file, file >= 0 else { return }
        guard let place else {
            close(file)
            return
        }
        fileSystems.post(place, .files, path(of: file)) { close(file) }
    }

    /// The path of an open file, for people. The kernel knows it without asking the file system.
    nonisolated func path(of file: Int32) -> String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(file)")) ?? "an open file"
    }

    /// Removes files; returns at once where they may lie on another file system.
    func removeSoon(_ record: TaskRecord, _ body: @escaping @Sendable () -> Void) {
        guard let place = fileSystem(of: record) else { return body() }
        fileSystems.post(place, .files, record.partial?.path ?? record.request.destination?.directory ?? "", body)
    }

    // MARK: - Leaving

    /// Lets a task stop that another file system may hold up.
    func leaveSoon(_ id: TaskID) {
        guard let transfer = active[id], transfer.place != nil, transfer.run.canBeLeft else { return }
        let wishes = transfer.wishes
        reporting.yield { service in
            let until = service.now.bootSeconds + Self.leavingSeconds
            try? await service.environment.clock.sleep(untilBootSeconds: until)
            await service.leave(id, wishes)
        }
    }

    private func leave(_ id: TaskID, _ wishes: OwnerWishes) async {
        guard let transfer = active[id], transfer.wishes === wishes, transfer.run.canBeLeft, let place = transfer.place
        else { return }
        switch transfer.exchange {
        // What is being synced or cut has no exchange any longer.
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

    /// A connection has ended of which nobody waited for the end.
    func leftEnded(_ position: ByteMeter, _ files: [Int32] = []) async {
        guard let index = leftExchanges.firstIndex(where: { $0.positions.contains { $0 === position } }) else { return }
        leftExchanges[index].positions.removeAll { $0 === position }
        leftExchanges[index].files.formUnion(files)
        guard leftExchanges[index].positions.isEmpty else { return }
        let left = leftExchanges.remove(at: index)
        for file in left.files { closeFile(file, at: left.place) }
        if let sources = left.sources { fileSystems.post(left.place, .files, "what is sent") { sources.close() } }
        await pump()
    }

    /// The same of an upload whose files were closed while nobody waited for that.
    func leftClosed(_ position: ByteMeter) async {
        leftExchanges.removeAll { left in left.positions.contains { $0 === position } }
        await pump()
    }

    /// Whether bytes may still be written for a task by an exchange that nobody waits for.
    func isLeft(_ id: TaskID) -> Bool { leftExchanges.contains { $0.task == id } }

    /// Seconds that a task which is to stop waits for the file system: more than one needs that answers, and less than people notice.
    private static let leavingSeconds: Double = 0.4

    // MARK: - Silence

    func fileSystemsChanged(_ change: FileSystems.Change) async {
        switch change {
        case .callBegan: watchFileSystems()
        case .answersAgain:
            do {
                try await store.write { try $0.endWaits(for: .destinationSilent) }
            } catch {
                storeFailed(error)
            }
            await pump()
        }
    }

    private func watchFileSystems() {
        guard timers.silence == nil, !isStopping, fileSystems.nextLook != nil else { return }
        timers.silence = Task { await self.watchForSilence() }
    }

    private func watchForSilence() async {
        while !isStopping, let next = fileSystems.nextLook {
            guard (try? await environment.clock.sleep(untilBootSeconds: next)) != nil else { break }
            let found = fileSystems.look()
            guard !found.isEmpty else { continue }
            for place in found {
                guard let silence = fileSystems.silence(of: place) else { continue }
                logger.warning("A file system does not answer", metadata: ["path": "\(silence.path)"])
            }
            // Their tasks hold no places any longer.
            await pump()
        }
        timers.silence = nil
        watchFileSystems()
    }

    /// Asks the threads of the transport that other file systems may hold up for a sign of life; once a second while these are in use.
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

    /// What a task waits for whose file system does not answer; nil where it does.
    func silentWait(at place: FileSystemKey?, _ now: ClockReading) -> Wait? {
        fileSystems.silence(of: place).map { silence in
            Wait(
                reason: .destinationSilent, since: now.wallTime(ofBootSeconds: silence.since),
                detail: TransferFailure.silentDestination(silence, now).message)
        }
    }

    /// Transfers that hold a place: what a file system holds up keeps no other from starting.
    var placeHolders: [ActiveTransfer] {
        let silent = fileSystems.silences
        guard !silent.isEmpty else { return Array(active.values) }
        return active.values.filter { $0.place.map { silent[$0] == nil } ?? true }
    }

    // MARK: - Stopping

    /// Waits a moment for files on their way to their names on other file systems.
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
    /// A call to a file system has not returned.
    static func silentDestination(_ silence: HangWatch.Silence, _ now: ClockReading) -> TransferFailure {
        let since = now.wallTime(ofBootSeconds: silence.since).formatted(.iso8601)
        return TransferFailure(
            .inputOutput,
            "\(silence.path) has not answered since \(since). The transfer continues when it does; if its server or device is gone, "
                + "unmount it or cancel the transfer.")
    }
}
