package import NightshiftAPI
import Sessions
package import Store

/// What follows when an exchange has ended.
extension TransferRun {
    /// A download's exchange has ended.
    ///
    /// - Parameters:
    ///   - hasFile: whether the bytes are in an open file.
    ///   - point: where on the way it failed; asked for only if it did.
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
            // With what was here before, the mistake may lie there. Without, asking again at once would fetch it all again.
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
            let failure = TransferFailure(.httpStatus, "A mirror asks who is there.")
            return [.closeFile] + troubled(failure, context, &hosts)
        case .question(let challenge):
            return [.closeFile] + questioned(challenge)
        }
    }

    /// The last of several connections has ended.
    ///
    /// - Parameters:
    ///   - map: which bytes are here.
    ///   - point: where on the way the last trouble was.
    package mutating func segmentsEnded(
        _ conclusion: SegmentsConclusion?, _ map: SegmentMap, at point: FailurePoint?, _ context: RunContext,
        _ hosts: inout HostTable
    ) -> [TransferAction] {
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
            // Pauses that the server asked for; those between connections are not the task's.
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

    /// A plain exchange takes over behind the contiguous beginning, and judges the file anew.
    ///
    /// - Parameter isCut: whether the file could be cut.
    package mutating func cut(
        _ isCut: Bool, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        guard case .cutting(let map, let reason) = phase else {
            assertionFailure("The file of task \(record.id) was cut, and its run is \(phase).")
            return []
        }
        guard isCut else {
            let failure = TransferFailure(.inputOutput, "The file cannot be cut to what is contiguous of it.")
            return troubled(failure, context, &hosts)
        }
        let plain = map.cutToPrefix()
        record.partial?.segments = nil
        record.partial?.synced = plain.synced.prefix
        record.partial?.length = plain.count
        record.received = plain.count
        let condition = record.partial.flatMap { RangeCondition(rawValue: $0.condition) } ?? .unusable
        entries.append(
            JournalEntry(time: context.now.date, decision: .undivided, task: record.id, detail: "\(reason)."))
        return again(condition, reason, context, &hosts)
    }

    /// The server has taken a part of an upload, or told how much it has: the next request follows at once.
    ///
    /// - Parameter isQueried: whether it was asked how much it has.
    package mutating func uploadGoesOn(
        isQueried: Bool, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        if isQueried, let resource = record.upload { entries += apply(.sendOn(from: resource.offset), context.now) }
        // Parts follow each other faster than their offsets need be written down.
        return entries.isEmpty ? goOn(context, &hosts) : save()
    }

    /// A server asks in the middle of an upload what only the task's app can say.
    package mutating func uploadQuestioned(_ challenge: Challenge) -> [TransferAction] { questioned(challenge) }

    private mutating func questioned(_ challenge: Challenge) -> [TransferAction] {
        phase = .questioned
        return [.question(challenge)]
    }

    /// The task waits for its app's answer.
    package mutating func asked(
        _ challenge: Challenge, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        hosts.abandoned(context.way, began: startedAt)
        entries += apply(.ask(challenge.sentence), context.now)
        return close(asking: challenge)
    }

    /// The app has answered another task meanwhile: this one starts again with that.
    package mutating func answeredMeanwhile(_ context: RunContext, _ hosts: inout HostTable) -> [TransferAction] {
        hosts.abandoned(context.way, began: startedAt)
        phase = .released
        return [.release]
    }

    /// The service itself has ended a request of an upload.
    package mutating func uploadStopped(_ context: RunContext, _ hosts: inout HostTable) -> [TransferAction] {
        interrupted(context, &hosts)
    }

    /// Asks again at once, a bounded number of times; without a condition from the start.
    mutating func again(
        _ condition: RangeCondition?, _ reason: String, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        if condition == nil, !mayRestart { return troubled(.keepsBytes(because: reason), context, &hosts) }
        repetitions += 1
        guard repetitions <= Self.repetitionLimit else {
            let failure = TransferFailure(.resourceChanged, "The server's answers contradict each other: \(reason)")
            return troubled(failure, context, &hosts)
        }
        if let condition {
            record.partial?.condition = condition.rawValue
        } else {
            // They are not continued any more; what takes their place has to come first.
            record.partial?.condition = RangeCondition.unusable.rawValue
            record.partial?.lossReason = reason
        }
        record.noteProgress()
        return save()
    }

    /// Questions asked again at once before the answers are taken for trouble.
    package static let repetitionLimit = 6
}

/// What follows when the last of several connections has ended.
package enum SegmentsConclusion: Hashable, Sendable {
    /// Every byte is written.
    case whole
    /// One plain exchange goes on behind the contiguous beginning.
    case plain(reason: String)
    /// It waits; no earlier than at this boot second, where there is one.
    case trouble(TransferFailure, notBefore: Double?)
    /// What is asked for is refused, and what follows is the same as after one exchange: the bytes here stay.
    case refused(DownloadConclusion)
}

extension TransferFailure {
    /// Going on would need that bytes are given up, for a mirror that may not have them.
    static func keepsBytes(because reason: String) -> TransferFailure {
        TransferFailure(.resourceChanged, "A mirror does not go on with the bytes that are here: \(reason).")
    }
}
