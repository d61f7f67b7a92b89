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
    func send(_ id: TaskID, file: Int32? = nil, at place: FileSystemKey? = nil, _ input: RunInput) async {
        _ = await committed(id, file: file, at: place, input)
    }

    /// Sends an input like ``send(_:file:at:_:)``, and returns whether all commits during the exchange succeeded.
    func committed(_ id: TaskID, file: Int32? = nil, at place: FileSystemKey? = nil, _ input: RunInput) async -> Bool {
        guard let transfer = active[id] else {
            files.close(file, at: place)
            return true
        }
        let record = transfer.record
        let context = RunContext(
            now: now, way: way(of: record), hold: bounds.hold(record), isBehindPortal: bounds.isBehindPortal(record),
            isServiceStopping: isStopping, random: environment.random, token: Self.newToken)
        let actions = input(&transfer.run, context, &hosts)
        // After the end of the exchange, its progress is no longer read.
        if transfer.run.phase == .saving { transfer.exchange = .starting }
        var areSaved = true
        for action in actions where !(await execute(action, transfer, file, place)) { areSaved = false }
        return areSaved
    }

    /// Executes one action. Returns false if it is a commit during the exchange that failed.
    private func execute(
        _ action: TransferAction, _ transfer: ActiveTransfer, _ file: Int32?, _ place: FileSystemKey?
    ) async -> Bool {
        let id = transfer.record.id
        switch action {
        case .ask: if active[id] === transfer { await exchange(transfer) }
        case .cancel: cancelExchange(transfer)
        case .closeFile: files.close(file, at: place)
        case .syncFile:
            let isSynced = await files.syncAndClose(file, at: place)
            // The task may have been abandoned while another file system was busy.
            guard active[id] === transfer, transfer.run.phase == .syncing else { break }
            await send(id) { $0.synced(isSynced, $1, &$2) }
        case .cutFile(let length):
            let isCut = await files.cutAndClose(file, to: length, at: place)
            guard active[id] === transfer, case .cutting = transfer.run.phase else { break }
            await send(id) { $0.cut(isCut, $1, &$2) }
        case .save(let record, let entries):
            let isSaved = await save([(record, entries)])
            await send(id) { $0.saved(isSaved, $1, &$2) }
        case .note(let record, let entries):
            guard await save([(record, entries)]) else {
                interrupt(id, .wait(.diskSpace))
                return false
            }
        case .finish(let entries): if let file { await finish(transfer, file, entries) }
        case .question(let challenge): await challenged(transfer, challenge)
        case .saveQuestion(let challenge, let record, let entries):
            let isSaved = await save([(record, entries)]) { try $0.putChallenge(of: record, challenge) }
            await send(id) { $0.saved(isSaved, $1, &$2) }
        case .keepBody(let body):
            let path = await keep(body, of: id)
            await send(id) { run, context, _ in run.bodyKept(path, context) }
        case .concludeLater:
            try? await environment.clock.sleep(untilBootSeconds: now.bootSeconds + Self.storePause)
            await send(id) { run, context, _ in run.concludeAgain(context) }
        case .admitOthers: scheduleSoon()
        case .removeCopies(let record): files.sources.remove(record)
        case .discard(let record): discard(record)
        case .abandonUpload(let record): abandonUpload(record)
        case .release:
            active[id] = nil
            endStart(id)
            claims.wakeWaiters(for: id)
            await schedule()
        case .report(let failure): report(failure, of: id)
        case .fault(let fault): report(fault, of: id)
        }
        return true
    }

    /// Records that an exchange for the task is running.
    func exchangeBegan(_ transfer: ActiveTransfer, _ exchange: ActiveTransfer.Exchange) {
        transfer.exchange = exchange
        if transfer.run.exchangeBegan().contains(.cancel) { cancelExchange(transfer) }
    }

    /// Ends the exchange of a task. The next step is decided after the exchange has ended.
    func interrupt(_ id: TaskID, _ interruption: Interruption = .wait(.starting)) {
        guard let transfer = active[id] else { return }
        if transfer.run.interrupt(interruption).contains(.cancel) { cancelExchange(transfer) }
        leaveSoon(transfer)
    }

    func cancelExchange(_ transfer: ActiveTransfer) {
        for handle in transfer.handles { handle.cancel() }
    }

    /// Handles an answer from one of a transfer's URLs. The answer concerns the task's origin only if the URL is the
    /// task's own.
    func sourceAnswered(_ transfer: ActiveTransfer, isOwn: Bool) {
        noteAnswer(of: transfer.record.id)
        if isOwn { return hostAnswered(transfer) }
        hosts.abandoned(way(of: transfer.record), began: transfer.run.startedAt)
    }

    /// Handles an answer from the task's origin. Tasks that waited for the origin may start.
    func hostAnswered(_ transfer: ActiveTransfer) {
        if hosts.answered(way(of: transfer.record), began: transfer.run.startedAt) { scheduleSoon() }
    }

    // MARK: - Commits

    /// Applies `event` to a task. Call this function only where the event is legal. If the event may have become
    /// obsolete, check ``TaskRecord/allows(_:)`` first.
    ///
    /// An illegal event is logged, fails only this task, and ends its exchange: see
    /// ``TaskRecord/transition(_:now:onFault:)``.
    ///
    /// - Returns: the journal entries of the transition.
    nonisolated func apply(
        _ event: TaskEvent, to record: inout TaskRecord, now: ClockReading
    ) -> [JournalEntry] {
        let id = record.id
        return record.transition(event, now: now) { fault in
            report(fault, of: id)
            reporting.yield { await $0.interrupt(id) }
        }
    }

    /// Commits many tasks with their entries in one transaction. Handles a failure, and then returns false.
    func save(
        _ changes: [(record: TaskRecord, entries: [JournalEntry])],
        also: @escaping @Sendable (StoreTransaction) throws -> Void = { _ in }
    ) async -> Bool {
        let now = now
        return await commit { transaction in
            for (record, entries) in changes {
                try transaction.update(record)
                for entry in entries { try transaction.record(entry) }
            }
            try also(transaction)
            try transaction.putClock(now)
        }
    }

    /// Commits a change that the service needs. Handles a failure, and then returns false.
    @discardableResult
    func commit(_ body: @escaping @Sendable (StoreTransaction) throws -> Void) async -> Bool {
        do {
            try await store.write(body)
            return true
        } catch {
            storeFailed(error)
            return false
        }
    }

    nonisolated func report(_ fault: IllegalTransition, of task: TaskID) {
        logger.critical(
            "A transfer received an event that its state does not allow",
            metadata: ["task": "\(task)", "state": "\(fault.state.rawValue)", "event": "\(fault.event.name)"])
    }

    private func report(_ failure: TransferFailure, of task: TaskID) {
        logger.info(
            "\(failure.consequence)",
            metadata: [
                "task": "\(task)", "code": "\(failure.code.rawValue)", "error": "\(failure.message)",
            ])
    }
}
