package import NightshiftAPI
package import Store

/// What becomes of a download whose bytes are all here, and which cannot be finished with them. Pure.
package enum FinishTrouble {
    /// The bytes are not what they should be, or could not be looked at.
    ///
    /// Bytes that came in several exchanges get one more chance. Where one URL sent all of them, the next one is asked.
    ///
    /// - Parameters:
    ///   - wasContinued: whether they came in several exchanges.
    ///   - record: the task's, which is told whom the bytes came from.
    ///   - random: 0..<1, for jitter.
    package static func wrongBytes(
        _ failure: TransferFailure, wasContinued: Bool, of record: inout TaskRecord, bootSeconds: Double,
        random: () -> Double
    ) -> TaskEvent {
        if failure.code == .checksumMismatch, wasContinued, record.restarts < mostRestarts {
            // The first time it may be chance; who sends wrong bytes again and again is left alone longer and longer.
            let delay = RetrySchedule.delay(attempt: record.failures + 1, random: random())
            return .fetchAgain(failure, notBefore: record.restarts > 0 ? bootSeconds + delay : nil)
        }
        if failure.code == .checksumMismatch, let mirrors = record.request.mirrors, !mirrors.isEmpty {
            if record.noteWrongSource() { return .fetchAgain(.wrongSource(failure, "Another URL is asked.")) }
            guard record.request.checksum != nil else { return .fail(failure, file: nil, resumeData: nil) }
            let all = "None of its \(mirrors.count + 1) URLs has the right file."
            return .fail(.wrongSource(failure, all), file: nil, resumeData: nil)
        }
        guard !failure.isPermanent else { return .fail(failure, file: nil, resumeData: nil) }
        if failure.code == .inputOutput {
            // What is not trusted has to be fetched once more.
            let isLasting = record.failures >= mostRestarts && record.lastError?.code == .inputOutput
            guard !isLasting else { return .fail(failure, file: nil, resumeData: nil) }
            record.partial?.distrustUnsynced()
        }
        return .hold(Hold(reason: .retry, failure: failure, notBefore: bootSeconds + FailurePause.ofThisMachine))
    }

    /// The finished bytes are gone, or are no longer what was written.
    ///
    /// The first time it may be chance, and they are fetched again at once; then after pauses that grow. What happens each time will
    /// happen the next time, too: after ``mostRestarts`` the task ends.
    package static func unusable(_ failure: TransferFailure, of record: TaskRecord, bootSeconds: Double) -> TaskEvent {
        var failure = failure
        guard record.restarts < mostRestarts else {
            failure.message +=
                " The file has been fetched \(record.restarts + 1) times; look for a program that changes new files there, or "
                + "choose another folder."
            return .fail(failure, file: nil, resumeData: nil)
        }
        failure.message += " They are fetched again."
        guard record.restarts > 0 else { return .fetchAgain(failure) }
        return .fetchAgain(
            failure, notBefore: bootSeconds + RetrySchedule.delay(attempt: record.failures + 1, random: 1))
    }

    /// Downloads from byte 0 that one task may be worth when its bytes came whole and could not be used.
    package static let mostRestarts = 5

    /// The file could not be given its name.
    ///
    /// - Parameter isRefused: whether its own place has refused it before, so that it is being kept with the service.
    /// - Returns: nil where no amount of waiting changes it: the file is kept with the service, and the task fails then.
    package static func unplaced(_ failure: TransferFailure, isRefused: Bool, bootSeconds: Double) -> TaskEvent? {
        if failure.isPermanent, !isRefused { return nil }
        return .hold(
            Hold(
                reason: failure.code == .diskFull ? .diskSpace : .retry, failure: failure,
                notBefore: bootSeconds + FailurePause.ofThisMachine))
    }
}

extension Hold {
    /// A pause while the folder that a file goes to is not there.
    static func forFolder(_ failure: TransferFailure, bootSeconds: Double) -> Hold {
        Hold(reason: .retry, failure: failure, notBefore: bootSeconds + FailurePause.ofThisMachine)
    }
}

extension TransferFailure {
    /// - Parameter sentence: what that means where there are several URLs.
    fileprivate static func wrongSource(_ failure: TransferFailure, _ sentence: String) -> TransferFailure {
        TransferFailure(failure.code, "\(failure.message) \(sentence)", status: failure.status)
    }
}
