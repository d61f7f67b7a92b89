package import NightshiftAPI
import Store

/// What follows when something has failed: another URL, a pause, or the end.
extension TransferRun {
    /// Asks elsewhere where there is another URL; else ends the task or lets it wait, as the failure demands.
    ///
    /// - Parameter point: where on the way; nil where no exchange failed.
    package mutating func troubled(
        _ failure: TransferFailure, after: RetryAfter? = nil, at point: FailurePoint? = nil, _ context: RunContext,
        _ hosts: inout HostTable
    ) -> [TransferAction] {
        if !failure.isPermanent, failure.code.isOfConnection {
            // It failed for what the device does, not for what the host does.
            if case .hold? = stopping { return interrupted(context, &hosts) }
            if probation != nil, !isEnding, context.hold == nil { return reconnect(context.now) }
        }
        let blame = blame(failure, at: point, after)
        var outcome = SourceRound.Outcome(failure: failure, retryAfter: after, isOwn: round.isOwn, blame: blame)
        // One that brings bytes is not left for a broken connection.
        if failure.code.isOfServer || blame == .address, !record.hasAdvanced, mayAskElsewhere(failure),
            stopping == nil, !context.isServiceStopping
        {
            guard let ended = round.advance(failure, after, blame) else { return askElsewhere(failure, context.now) }
            outcome = ended
        }
        return giveUp(outcome, context, &hosts)
    }

    /// The folder that the file goes to is not there: no server is asked, and the bytes that are here stay.
    package mutating func folderIsMissing(
        _ failure: TransferFailure, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        hosts.abandoned(context.way, began: startedAt)
        record.withdrawAttempt()
        entries += apply(.hold(.forFolder(failure, bootSeconds: context.now.bootSeconds)), context.now)
        return [.report(failure)] + close()
    }

    /// Ends an upload that nothing can be continued of.
    package mutating func uploadFailed(
        _ failure: TransferFailure, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        let abandoned = record
        record.upload = nil
        return [.abandonUpload(abandoned)] + fail(failure, context, &hosts)
    }

    /// The file system of the destination does not answer: nothing is begun, and nobody is asked, until it does.
    ///
    /// - Parameter failure: says which one, and since when.
    package mutating func destinationSilent(
        _ failure: TransferFailure, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        hosts.abandoned(context.way, began: startedAt)
        let hold = Hold(
            reason: .destinationSilent, failure: failure, notBefore: context.now.bootSeconds + Self.silencePause)
        entries += apply(.hold(hold), context.now)
        return [.report(failure)] + close()
    }

    /// Ends the task.
    package mutating func fail(
        _ failure: TransferFailure, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        hosts.abandoned(context.way, began: startedAt)
        let token = record.isResumable ? context.token() : nil
        let discarded = record
        entries += apply(.fail(failure, file: nil, resumeData: token), context.now)
        return [.report(failure)] + close(discarding: token == nil ? discarded : nil)
    }

    /// The next of a download's URLs, right after another one failed.
    private mutating func askElsewhere(_ failure: TransferFailure, _ now: ClockReading) -> [TransferAction] {
        repetitions = 0
        if record.partial?.mirror != round.mirror {
            ownPartial = ownPartial ?? record.partial
            record.partial?.leaveURL()
        }
        // Without its path and query, which may let people in.
        let origin = (try? TransferURL(parsing: round.url))?.origin ?? ""
        entries.append(
            JournalEntry(
                time: now.date, decision: .mirrorAsked, task: record.id, error: failure, detail: "\(origin)."))
        record.noteProgress()
        return save()
    }

    /// Whether a mirror is asked now that another URL has failed.
    ///
    /// Without a digest a mirror has to send everything that is here once more, to be compared: that is worth it where there is
    /// little, where the URL that has the bytes fails again and again, or where it says that it has them no more.
    private func mayAskElsewhere(_ failure: TransferFailure) -> Bool {
        guard round.isFirst, let partial = record.partial else { return true }
        if record.request.checksum != nil || !partial.digests.isEmpty { return true }
        return record.received <= Self.comparedAtOnce || failure.code == .httpStatus
            || record.failures >= Self.failuresBeforeComparing
    }

    /// Nobody has the file now.
    private mutating func giveUp(
        _ outcome: SourceRound.Outcome, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        let failure = outcome.failure
        returnFromMirrors()
        if context.isBehindPortal, failure.code == .untrustedServer {
            // The network has put its own page in front of the server: once somebody has logged in, the certificate is the server's.
            hosts.abandoned(context.way, began: startedAt)
            record.noteProgress()
            let end = context.now.bootSeconds + Self.portalPause
            entries += apply(.hold(Hold(reason: .portal, failure: failure, notBefore: end)), context.now)
            return [.report(failure)] + close()
        }
        guard !failure.isPermanent else {
            var told = failure
            if !record.wrongSources.isEmpty { told.message += " Other URLs have sent the wrong file." }
            return fail(told, context, &hosts)
        }
        if isAccepted, isFromStart, failure.code.isOfServer,
            let hopeless = record.hopeless(failure, fetching: record.received)
        {
            return fail(hopeless, context, &hosts)
        }
        if failure.code == .inputOutput { record.partial?.distrustUnsynced() }
        record.noteProgress()
        let hold = pause(outcome, context, &hosts)
        entries += apply(.hold(hold), context.now)
        return [.report(failure)] + close()
    }

    /// How long, and what for; who is to blame pauses all who would meet the same.
    private func pause(
        _ outcome: SourceRound.Outcome, _ context: RunContext, _ hosts: inout HostTable
    ) -> Hold {
        let failure = outcome.failure
        let now = context.now
        let attempt = FailurePause.Attempt(
            failure: failure, blame: outcome.blame, task: record.id, way: context.way, began: startedAt,
            failures: record.failures, retryAfter: outcome.retryAfter)
        let pause = FailurePause.after(attempt, in: &hosts, now: now, random: context.random)
        if pause.reason == .retry, failure.code == .resourceChanged, let doubt = record.doubt {
            // Once somebody has logged in it goes on at once; a network that never says so is looked at again.
            let pause = context.isBehindPortal ? Self.portalPause : AnswerDoubts.pause(times: doubt.times)
            return Hold(
                reason: context.isBehindPortal ? .portal : .doubtfulAnswer, failure: failure,
                notBefore: now.bootSeconds + pause)
        }
        return Hold(reason: pause.reason, failure: failure, notBefore: pause.notBefore)
    }

    /// Whom a failure speaks against.
    private func blame(_ failure: TransferFailure, at point: FailurePoint?, _ after: RetryAfter?) -> Blame {
        let asked = (try? TransferURL(parsing: round.url))?.origin ?? record.origin
        return Blame.of(
            failure, at: point, own: record.origin, asked: asked, hasOwnTLS: record.request.tls != nil,
            retryAfter: after
        ).ofAttempt(hasAdvanced: record.hasAdvanced)
    }

    /// Seconds.
    private static let portalPause: Double = 3_600
    /// Seconds. The file system's answer ends the pause sooner; a mount that takes the place of one that never answers does not.
    private static let silencePause: Double = 60
    /// Bytes that cost less than a pause does.
    private static let comparedAtOnce: Int64 = 4 << 20
    private static let failuresBeforeComparing = 2
}

extension TransferFailure.Code {
    /// Whether another server could do better.
    fileprivate var isOfServer: Bool {
        switch self {
        case .cannotResolveHost, .cannotConnect, .connectionLost, .idleTimeout, .truncated, .tlsFailure,
            .certificateOutOfDate, .protocolError, .serverUnavailable, .resourceChanged, .httpStatus, .tooManyRedirects,
            .redirectRefused, .untrustedServer:
            true
        case .proxyFailure, .diskFull, .inputOutput, .badURL, .unsupportedURL, .clientCertificate, .checksumMismatch,
            .sourceChanged, .sourceMissing, .destinationUnavailable, .destinationExists, .tooLarge, .timedOut,
            .cancelled, .forceQuit, .internalFault:
            false
        }
    }

    /// Whether a network that goes away looks like this.
    fileprivate var isOfConnection: Bool {
        switch self {
        case .cannotResolveHost, .cannotConnect, .connectionLost, .idleTimeout, .truncated: true
        default: false
        }
    }
}
