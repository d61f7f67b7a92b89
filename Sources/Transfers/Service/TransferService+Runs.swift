import Clock
import Foundation
import Glibc
import Logging
import Mounts
import NightshiftAPI
import Store

/// Executes the actions of transfer runs and sends the runs the results. The runs make all decisions.
extension TransferService {
    typealias RunInput = (inout TransferRun, RunContext, inout HostTable) -> [TransferAction]

    /// Sends an input to a run and executes its actions.
    ///
    /// - Parameters:
    ///   - file: the file of the ended exchange; it is closed unless an action hands it over.
    ///   - place: the file system of `file`; nil for the service's own.
    func tell(_ id: TaskID, file: Int32? = nil, at place: FileSystemKey? = nil, _ input: RunInput) async {
        guard var run = active[id]?.run else { return closeFile(file, at: place) }
        let actions = input(&run, context(of: run), &hosts)
        active[id]?.run = run
        // After the end of the exchange, its progress is no longer read.
        if run.phase == .saving { active[id]?.exchange = .starting }
        await execute(actions, id, file, place)
    }

    private func context(of run: TransferRun) -> RunContext {
        RunContext(
            now: now, way: way(of: run.record), hold: bounds.hold(run.record),
            isBehindPortal: bounds.isBehindPortal(run.record),
            isServiceStopping: isStopping, random: environment.random, token: Self.newToken)
    }

    private func execute(_ actions: [TransferAction], _ id: TaskID, _ file: Int32?, _ place: FileSystemKey?) async {
        for action in actions {
            switch action {
            case .ask:
                if let transfer = active[id] { await exchange(transfer) }
            case .cancel: cancelExchange(id)
            case .closeFile: closeFile(file, at: place)
            case .syncFile:
                let wishes = active[id]?.wishes
                let isSynced = await syncAndClose(file, at: place)
                // The task may have been abandoned while another file system was busy.
                guard active[id]?.wishes === wishes, active[id]?.phase == .syncing else { return }
                await tell(id) { $0.synced(isSynced, $1, &$2) }
            case .cutFile(let length):
                let wishes = active[id]?.wishes
                let isCut = await cutAndClose(file, to: length, at: place)
                guard active[id]?.wishes === wishes, active[id]?.isCutting == true else { return }
                await tell(id) { $0.cut(isCut, $1, &$2) }
            case .save(let record, let entries):
                let isSaved = await save(record, entries)
                await tell(id) { $0.saved(isSaved, $1, &$2) }
            case .note(let record, let entries):
                if !(await save(record, entries)) { interrupt(id, .diskSpace) }
            case .finish(let entries):
                if let transfer = active[id], let file { await finish(transfer, file, entries) }
            case .question(let challenge): await challenged(id, challenge)
            case .saveQuestion(let challenge, let record, let entries):
                let isSaved = await save([(record, entries)]) { try $0.putChallenge(of: record, challenge) }
                await tell(id) { $0.saved(isSaved, $1, &$2) }
            case .keepBody(let body):
                let path = await keep(body, of: id)
                await tell(id) { run, context, _ in run.bodyKept(path, context) }
            case .concludeLater:
                try? await environment.clock.sleep(untilBootSeconds: now.bootSeconds + Self.storePause)
                await tell(id) { run, context, _ in run.concludeAgain(context) }
            case .admitOthers: reporting.yield { await $0.schedule() }
            case .removeCopies(let record): sources.remove(record)
            case .discard(let record): discard(record)
            case .abandonUpload(let record): abandonUpload(record)
            case .release:
                release(id)
                await schedule()
            case .report(let failure): report(failure, of: id)
            case .fault(let fault): report(fault, of: id)
            }
        }
    }

    /// Records that an exchange for the task is running.
    func exchangeBegan(_ transfer: ActiveTransfer) {
        let id = transfer.record.id
        active[id] = transfer
        if active[id]?.run.exchangeBegan().contains(.cancel) == true { cancelExchange(id) }
    }

    /// Ends the exchange of a task. The next step is decided after the exchange has ended.
    func interrupt(_ id: TaskID, _ reason: WaitReason) {
        interrupt(id, .wait(reason))
    }

    func interrupt(_ id: TaskID, _ interruption: Interruption) {
        if active[id]?.run.interrupt(interruption).contains(.cancel) == true { cancelExchange(id) }
        leaveSoon(id)
    }

    func cancelExchange(_ id: TaskID) {
        for handle in active[id]?.handles ?? [] { handle.cancel() }
    }

    /// Handles a failure; see ``TransferRun/troubled(_:after:at:_:_:)``.
    ///
    /// - Parameter transfer: the current transfer, except for a requested stop.
    func trouble(
        _ transfer: ActiveTransfer, _ failure: TransferFailure, after: RetryAfter? = nil,
        at point: FailurePoint? = nil
    ) async {
        put(transfer)
        await tell(transfer.record.id) { $0.troubled(failure, after: after, at: point, $1, &$2) }
    }

    /// Stores a changed copy of a transfer, together with requests that arrived meanwhile.
    func put(_ transfer: ActiveTransfer) {
        guard let latest = active[transfer.record.id] else { return }
        var transfer = transfer
        transfer.run.keepStop(of: latest.run)
        active[transfer.record.id] = transfer
    }

    /// Removes the task from the active transfers.
    func release(_ id: TaskID) {
        active[id] = nil
        endStart(id)
        claims.wakeWaiters(for: id)
    }

    /// Syncs and closes the file. Returns whether its bytes are on disk; nil without a file.
    private func syncAndClose(_ file: Int32?, at place: FileSystemKey?) async -> Bool? {
        guard let file else { return nil }
        guard let place else {
            let isSynced = await disks.sync.run { FileSteps.syncData(file) }
            close(file)
            return isSynced
        }
        return await fileSystems.run(place, .sync, path(of: file)) {
            defer { close(file) }
            return FileSteps.syncData(file)
        }
    }

    /// Truncates and closes the file. Returns whether it was truncated.
    private func cutAndClose(_ file: Int32?, to length: Int64, at place: FileSystemKey?) async -> Bool {
        guard let file else { return false }
        let isCut = await onFileSystem(place, .files, path(of: file)) {
            defer { close(file) }
            return PartialStorage.cut(file, to: length)
        }
        return isCut ?? false
    }

    private func report(_ failure: TransferFailure, of task: TaskID) {
        logger.info(
            "\(failure.consequence)",
            metadata: [
                "task": "\(task)", "code": "\(failure.code.rawValue)", "error": "\(failure.message)",
            ])
    }
}
