package import NightshiftAPI
import Store

/// The steps after a failure: another URL, a pause, or the end.
extension TransferRun {
    /// Requests another URL if there is one. Otherwise ends the task or lets it wait, depending on the failure.
    ///
    /// - Parameter point: the point of the failure; nil if no exchange failed.
    package mutating func troubled(
        _ failure: TransferFailure, after: RetryAfter? = nil, at point: FailurePoint? = nil, _ context: RunContext,
        _ hosts: inout HostTable
    ) -> [TransferAction] {
        if !failure.isPermanent, failure.code.isOfConnection {
            // The device state caused the failure, not the host.
            if case .hold? = stopping { return interrupted(context, &hosts) }
            if connectionCheck != nil, !isEnding, context.hold == nil { return reconnect(context.now) }
        }
        let attribution = attribution(failure, at: point, after)
        var outcome = SourceRound.Outcome(
            failure: failure, retryAfter: after, isOwn: round.isOwn, attribution: attribution)
        // A URL that sends bytes is not abandoned because of a broken connection.
        if failure.code.isOfServer || attribution == .address, !record.hasAdvanced, mayAskElsewhere(failure),
            stopping == nil, !context.isServiceStopping
        {
            guard let ended = round.advance(failure, after, attribution) else {
                return askElsewhere(failure, context.now)
            }
            outcome = ended
        }
        return giveUp(outcome, context, &hosts)
    }

    /// Lets the task wait because its destination folder is missing. No request is sent, and the bytes on disk stay.
    package mutating func folderIsMissing(
        _ failure: TransferFailure, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        hosts.abandoned(context.way, began: startedAt)
        record.withdrawAttempt()
        entries += apply(.hold(.forFolder(failure, bootSeconds: context.now.bootSeconds)), context.now)
        return [.report(failure)] + close()
    }

    /// Ends an upload that cannot be continued.
    package mutating func uploadFailed(
        _ failure: TransferFailure, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        let abandoned = record
        record.upload = nil
        return [.abandonUpload(abandoned)] + fail(failure, context, &hosts)
    }

    /// Lets the task wait because the file system of its destination does not respond. The service sends no request
    /// before the file system responds.
    ///
    /// - Parameter failure: a failure that names the file system and says since when it has not responded.
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

    /// Requests the next of a download's URLs, directly after another one failed.
    private mutating func askElsewhere(_ failure: TransferFailure, _ now: ClockReading) -> [TransferAction] {
        repetitions = 0
        if record.partial?.mirror != round.mirror {
            ownPartial = ownPartial ?? record.partial
            record.partial?.leaveURL()
        }
        // The path and query are omitted, because they may contain secrets.
        let origin = (try? TransferURL(parsing: round.url))?.origin ?? ""
        entries.append(
            JournalEntry(
                time: now.date, decision: .mirrorAsked, task: record.id, error: failure, detail: "\(origin)."))
        record.noteProgress()
        return save()
    }

    /// Returns whether a mirror is requested after another URL has failed.
    ///
    /// Without a digest, a mirror has to send all bytes on disk once more, to be compared. This is useful in three
    /// cases: few bytes are on disk, the URL that has the file fails repeatedly, or that URL says that the file is
    /// gone.
    private func mayAskElsewhere(_ failure: TransferFailure) -> Bool {
        guard round.isFirst, let partial = record.partial else { return true }
        if record.request.checksum != nil || !partial.digests.isEmpty { return true }
        return record.received <= Self.comparedAtOnce || failure.code == .httpStatus
            || record.failures >= Self.failuresBeforeComparing
    }

    /// Ends the task or lets it wait, because none of its URLs provides the file now.
    private mutating func giveUp(
        _ outcome: SourceRound.Outcome, _ context: RunContext, _ hosts: inout HostTable
    ) -> [TransferAction] {
        let failure = outcome.failure
        returnFromMirrors()
        if context.isBehindPortal, failure.code == .untrustedServer {
            // A captive portal answered instead of the server. After a log-in, the certificate will be that of the
            // server.
            hosts.abandoned(context.way, began: startedAt)
            record.noteProgress()
            let end = context.now.bootSeconds + Self.portalPause
            entries += apply(.hold(Hold(reason: .portal, failure: failure, notBefore: end)), context.now)
            return [.report(failure)] + close()
        }
        guard !failure.isPermanent else {
            var told = failure
            if !record.wrongSources.isEmpty { told.message += " Other URLs sent the wrong file." }
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

    /// Decides the length and the reason of the pause. All tasks that would fail for the same cause pause as well.
    private func pause(
        _ outcome: SourceRound.Outcome, _ context: RunContext, _ hosts: inout HostTable
    ) -> Hold {
        let failure = outcome.failure
        let now = context.now
        let attempt = FailurePause.Attempt(
            failure: failure, attribution: outcome.attribution, task: record.id, way: context.way, began: startedAt,
            failures: record.failures, retryAfter: outcome.retryAfter)
        let pause = FailurePause.after(attempt, in: &hosts, now: now, random: context.random)
        if pause.reason == .retry, failure.code == .resourceChanged, let doubt = record.doubt {
            // After a log-in the task continues at once. If the network never reports the log-in, the request is
            // repeated after this pause.
            let pause = context.isBehindPortal ? Self.portalPause : SuspectResponses.pause(times: doubt.times)
            return Hold(
                reason: context.isBehindPortal ? .portal : .doubtfulAnswer, failure: failure,
                notBefore: now.bootSeconds + pause)
        }
        return Hold(reason: pause.reason, failure: failure, notBefore: pause.notBefore)
    }

    /// Returns the tasks that a failure affects.
    private func attribution(_ failure: TransferFailure, at point: FailurePoint?, _ after: RetryAfter?)
        -> FailureAttribution
    {
        let asked = (try? TransferURL(parsing: round.url))?.origin ?? record.origin
        return FailureAttribution.of(
            failure, at: point, own: record.origin, asked: asked, hasOwnTLS: record.request.tls != nil,
            retryAfter: after
        ).ofAttempt(hasAdvanced: record.hasAdvanced)
    }

    /// The pause during a captive portal, in seconds.
    private static let portalPause: Double = 3_600
    /// The pause in seconds while a file system does not respond. The pause ends early when the file system responds.
    /// The pause does not end early when another mount replaces a file system that never responds.
    private static let silencePause: Double = 60
    /// The highest number of bytes whose comparison is cheaper than a pause.
    private static let comparedAtOnce: Int64 = 4 << 20
    private static let failuresBeforeComparing = 2
}

extension TransferFailure.Code {
    /// Whether a request to another server could succeed.
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

    /// Whether the loss of the network can cause this failure.
    fileprivate var isOfConnection: Bool {
        switch self {
        case .cannotResolveHost, .cannotConnect, .connectionLost, .idleTimeout, .truncated: true
        default: false
        }
    }
}
