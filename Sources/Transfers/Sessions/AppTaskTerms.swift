package import NightshiftAPI
package import Store

/// On what terms the tasks that an app adds are accepted: what its state makes of them.
package struct AppTaskTerms: Hashable, Sendable {
    /// Seconds since 1970 until which they do not start (the resume rate limiter); nil where they may.
    package var startsPausedUntil: Double?
    /// Whether the app is in the background: its tasks then wait for a good moment until it is in front.
    package var isInBackground: Bool

    package init(startsPausedUntil: Double? = nil, isInBackground: Bool = false) {
        self.startsPausedUntil = startsPausedUntil
        self.isInBackground = isInBackground
    }

    /// Reads the terms that hold in a transaction; a failure is why the app cannot add tasks.
    package typealias Query = @Sendable (StoreTransaction, ClockReading) throws -> Result<AppTaskTerms, Problem>
}

extension TransferService {
    private enum Insertion: Sendable {
        case inserted([TaskID])
        /// Nothing was inserted: the terms were others than those of the records.
        case onOtherTerms(AppTaskTerms)
    }

    /// Inserts tasks on the terms that hold in the transaction that inserts them.
    ///
    /// Where these are no longer the ones that were read before it, all begins anew with the new ones. That takes a step of
    /// the app each time, so it comes to an end.
    nonisolated func insert(
        _ records: [TaskRecord], in session: SessionID, continuing sources: [String: TaskRecord],
        on query: AppTaskTerms.Query?, _ now: ClockReading
    ) async throws(Problem) -> [TaskID] {
        var terms = AppTaskTerms()
        if let query { terms = try await ask { try query($0, now) }.get() }
        while true {
            let records = records.map { $0.on(terms, now) }
            let held = await heldFromTheFirst(records, now)
            let insertion = try await change { [terms] transaction -> Result<Insertion, Problem> in
                let latest = try query?(transaction, now) ?? .success(terms)
                guard latest == .success(terms) else { return latest.map { .onOtherTerms($0) } }
                return try Self.insert(records, session, sources, held, now, transaction).map { .inserted($0) }
            }
            switch insertion {
            case .inserted(let ids): return ids
            case .onOtherTerms(let latest): terms = latest
            }
        }
    }
}

extension TaskRecord {
    fileprivate func on(_ terms: AppTaskTerms, _ now: ClockReading) -> TaskRecord {
        var record = self
        if terms.isInBackground { record.forceDiscretion() }
        if let until = terms.startsPausedUntil {
            record.notBefore = now.bootSeconds + (until - now.wallSeconds)
            record.wait = StoredWait(reason: .relaunchDelay, since: now.wallSeconds, detail: nil)
        }
        return record
    }
}
