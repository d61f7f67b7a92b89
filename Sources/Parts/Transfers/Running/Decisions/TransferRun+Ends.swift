package import NightshiftAPI
import Sessions
package import Store

/// The steps after the end of an exchange.
extension TransferRun {
    /// Handles the end of a download's exchange.
    ///
    /// - Parameters:
    ///   - hasFile: whether the bytes are in an open file.
    ///   - point: the point of a failure; evaluated only after a failure.
    package mutating func ended(
        _ conclusion: DownloadConclusion, hasFile: Bool, at point: @autoclosure () -> FailurePoint?,
        _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        switch conclusion {
        case .whole where hasFile: return handOver(TransferAction.finish)
        case .whole:
            let failure = TransferFailure(.inputOutput, "The file's bytes are gone.")
            return troubled(failure, context, &hosts)
        case .again(let condition, let reason):
            return [.closeFile] + again(condition, reason, context, &hosts)
        case .interrupted:
            phase = .syncing
            return [.syncFile]
        case .doubt(let doubt, let failure):
            if record.partial == nil { record.firstDoubt = doubt } else { record.partial?.doubt = doubt }
            return [.closeFile] + troubled(failure, context, &hosts)
        case .trouble(let failure, let after):
            return [.closeFile] + troubled(failure, after: after, at: point(), context, &hosts)
        case .worthless(let failure):
            // If older bytes were on disk, they may be the cause. Otherwise an immediate request would fetch the whole
            // file again.
            if startCount > 0 { return [.closeFile] + again(nil, failure.message, context, &hosts) }
            let fetched = record.received
            record.partial = nil
            record.received = 0
            record.noteRestart()
            if let hopeless = record.hopeless(failure, fetching: fetched) {
                return [.closeFile] + fail(hopeless, context, &hosts)
            }
            return [.closeFile] + troubled(failure, at: point(), context, &hosts)
        case .question where !round.isOwn:
            let failure = TransferFailure(.httpStatus, "A mirror cannot send a challenge.")
            return [.closeFile] + troubled(failure, context, &hosts)
        case .question(let challenge):
            return [.closeFile] + questioned(challenge)
        }
    }

    /// Handles the end of the last of several connections.
    ///
    /// - Parameters:
    ///   - map: the bytes on disk.
    ///   - isRecorded: whether the row says that bytes may follow gaps.
    ///   - point: the point of the last failure.
    package mutating func segmentsEnded(
        _ conclusion: SegmentsConclusion?, _ map: SegmentMap, isRecorded: Bool, at point: FailurePoint?,
        _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        record.received = map.count
        record.partial?.synced = map.synced.prefix
        if isRecorded { record.partial?.segments = map }
        switch conclusion {
        case .whole?:
            record.partial?.segments = nil
            return handOver(TransferAction.finish)
        case .plain(let reason)? where stopping == nil && !mayRestart:
            return [.closeFile] + troubled(.keepsBytes(because: reason), context, &hosts)
        case .plain(let reason)? where stopping == nil:
            singleReason = reason
            phase = .cutting(map, reason: reason)
            return [.cutFile(to: map.prefix)]
        case .trouble(let failure, let notBefore)? where stopping == nil:
            // The task waits only for pauses that the server requested. It does not wait for pauses between
            // connections.
            let asked = failure.status == 429 || failure.status == 503 ? notBefore : nil
            let after = asked.map { RetryAfter.seconds($0 - context.now.bootSeconds) }
            return [.closeFile] + troubled(failure, after: after, at: point, context, &hosts)
        case .refused(let conclusion)? where stopping == nil:
            return ended(conclusion, hasFile: true, at: point, context, &hosts)
        case .plain?, .trouble?, .refused?, nil:
            phase = .syncing
            return [.syncFile]
        }
    }

    /// Continues with a single connection after the contiguous beginning of the file, and judges the file again.
    ///
    /// - Parameter isCut: whether the file could be truncated.
    package mutating func cut(
        _ isCut: Bool, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        guard case .cutting(let map, let reason) = phase else {
            assertionFailure("The file of task \(record.id) was truncated, but its run is in the phase \(phase).")
            return []
        }
        guard isCut else {
            let failure = TransferFailure(.inputOutput, "The file cannot be truncated to its contiguous beginning.")
            return troubled(failure, context, &hosts)
        }
        keepContiguousBytes(of: map)
        record.received = map.prefix
        let condition = record.partial.flatMap { RangeCondition(rawValue: $0.condition) } ?? .unusable
        note(.undivided, "\(reason).", context.now)
        return again(condition, reason, context, &hosts)
    }

    /// Continues an upload after the server has accepted a part of it, or has reported its offset. The next request
    /// follows at once.
    ///
    /// - Parameter isQueried: whether the server was asked for its offset.
    package mutating func uploadGoesOn(
        isQueried: Bool, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        if isQueried, let resource = record.upload { entries += apply(.sendOn(from: resource.offset), context.now) }
        // Parts follow each other too fast to commit each of their offsets.
        return entries.isEmpty ? goOn(context, &hosts) : save()
    }

    mutating func questioned(_ challenge: Challenge) -> [TransferAction] {
        phase = .questioned
        return [.question(challenge)]
    }

    /// Lets the task wait for its app's answer.
    package mutating func asked(
        _ challenge: Challenge, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        hosts.abandoned(context.way, began: startedAt)
        entries += apply(.ask(challenge.sentence), context.now)
        return close(asking: challenge)
    }

    /// Starts the exchange again with an answer that the app has given for another task meanwhile.
    package mutating func answeredMeanwhile(_ context: RunContext, _ hosts: inout HostTable) -> [TransferAction] {
        hosts.abandoned(context.way, began: startedAt)
        phase = .released
        return [.release]
    }

    /// Sends another request at once, a limited number of times. Without a condition, the request is for the whole
    /// file.
    mutating func again(
        _ condition: RangeCondition?, _ reason: String, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        if condition == nil, !mayRestart { return troubled(.keepsBytes(because: reason), context, &hosts) }
        repetitions += 1
        guard repetitions <= Self.repetitionLimit else {
            let failure = TransferFailure(.resourceChanged, "The server's responses contradict each other: \(reason)")
            return troubled(failure, context, &hosts)
        }
        if let condition {
            record.partial?.condition = condition.rawValue
        } else {
            // The download no longer continues from these bytes. They are replaced only when new bytes arrive.
            record.partial?.condition = RangeCondition.unusable.rawValue
            record.partial?.lossReason = reason
        }
        record.noteProgress()
        return save()
    }

    /// The maximum number of immediate requests before the responses are treated as a failure.
    package static let repetitionLimit = 6
}

/// The next step after the end of the last of several connections.
package enum SegmentsConclusion: Hashable, Sendable {
    /// All bytes are written.
    case whole
    /// A single connection continues after the contiguous beginning.
    case plain(reason: String)
    /// The task waits, at least until this boot second if one is given.
    case trouble(TransferFailure, notBefore: Double?)
    /// The request was refused. The bytes on disk stay, and the next step is the same as after a single exchange.
    case refused(DownloadConclusion)
}

extension TransferFailure {
    /// Returns the failure of a mirror that could continue only by discarding bytes, which a mirror must not do.
    static func keepsBytes(because reason: String) -> TransferFailure {
        TransferFailure(.resourceChanged, "The download cannot resume from the mirror: \(reason).")
    }
}
