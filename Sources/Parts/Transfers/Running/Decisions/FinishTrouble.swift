package import NightshiftAPI
package import Store

/// The next step for a download whose bytes have all arrived, but whose file cannot be finished with these bytes. This
/// is a pure decision.
package enum FinishTrouble {
    /// Returns the event for bytes that are wrong, or that could not be checked.
    ///
    /// Bytes from several exchanges are fetched once more. If one URL sent all of the bytes, the next URL is requested.
    ///
    /// - Parameters:
    ///   - wasContinued: whether the bytes came in several exchanges.
    ///   - record: the record of the task, which stores the source of the wrong bytes.
    ///   - random: 0..<1, for jitter.
    package static func wrongBytes(
        _ failure: TransferFailure, wasContinued: Bool, of record: inout TaskRecord, bootSeconds: Double,
        random: () -> Double
    ) -> TaskEvent {
        if failure.code == .checksumMismatch, wasContinued, record.restarts < mostRestarts {
            // The first time may be chance. If a source sends wrong bytes repeatedly, it is requested after growing
            // pauses.
            let delay = RetrySchedule.delay(attempt: record.failures + 1, random: random())
            return .fetchAgain(failure, notBefore: record.restarts > 0 ? bootSeconds + delay : nil)
        }
        if failure.code == .checksumMismatch, let mirrors = record.request.mirrors, !mirrors.isEmpty {
            if record.noteWrongSource() { return .fetchAgain(.wrongSource(failure, "Another URL is tried.")) }
            guard record.request.checksum != nil else { return .fail(failure, file: nil, resumeData: nil) }
            let all = "None of its \(mirrors.count + 1) URLs has the right file."
            return .fail(.wrongSource(failure, all), file: nil, resumeData: nil)
        }
        guard !failure.isPermanent else { return .fail(failure, file: nil, resumeData: nil) }
        if failure.code == .inputOutput {
            // Bytes that cannot be trusted have to be fetched once more.
            let isLasting = record.failures >= mostRestarts && record.lastError?.code == .inputOutput
            guard !isLasting else { return .fail(failure, file: nil, resumeData: nil) }
            record.partial?.distrustUnsynced()
        }
        return .hold(Hold(reason: .retry, failure: failure, notBefore: bootSeconds + FailurePause.ofThisMachine))
    }

    /// Returns the event for finished bytes that are gone, or that are no longer the bytes that were written.
    ///
    /// The first time this may be chance, so the file is fetched again at once. Later it is fetched after growing
    /// pauses. If the failure happens each time, it will probably happen again, so the task ends after
    /// ``mostRestarts``.
    package static func unusable(_ failure: TransferFailure, of record: TaskRecord, bootSeconds: Double) -> TaskEvent {
        var failure = failure
        guard record.restarts < mostRestarts else {
            failure.message +=
                " The file was downloaded \(record.restarts + 1) times. "
                + "Find the program that changes new files there, or "
                + "choose another folder."
            return .fail(failure, file: nil, resumeData: nil)
        }
        failure.message += " The file is downloaded again."
        guard record.restarts > 0 else { return .fetchAgain(failure) }
        return .fetchAgain(
            failure, notBefore: bootSeconds + RetrySchedule.delay(attempt: record.failures + 1, random: 1))
    }

    /// The maximum number of downloads from byte 0 for a task whose bytes arrived completely but could not be used.
    package static let mostRestarts = 5

    /// Returns the event for a file that could not get its name.
    ///
    /// - Parameter isRefused: whether the destination has already refused the file, so that the service stores it.
    /// - Returns: nil if waiting cannot help: the service then stores the file, and the task fails.
    package static func unplaced(_ failure: TransferFailure, isRefused: Bool, bootSeconds: Double) -> TaskEvent? {
        if failure.isPermanent, !isRefused { return nil }
        return .hold(
            Hold(
                reason: failure.code == .diskFull ? .diskSpace : .retry, failure: failure,
                notBefore: bootSeconds + FailurePause.ofThisMachine))
    }
}

extension Hold {
    /// Returns the pause while the destination folder of a file is missing.
    static func forFolder(_ failure: TransferFailure, bootSeconds: Double) -> Hold {
        Hold(reason: .retry, failure: failure, notBefore: bootSeconds + FailurePause.ofThisMachine)
    }
}

extension TransferFailure {
    /// Returns `failure` with one more sentence at the end of its message.
    ///
    /// - Parameter sentence: the consequence if there are several URLs.
    fileprivate static func wrongSource(_ failure: TransferFailure, _ sentence: String) -> TransferFailure {
        TransferFailure(failure.code, "\(failure.message) \(sentence)", status: failure.status)
    }
}
