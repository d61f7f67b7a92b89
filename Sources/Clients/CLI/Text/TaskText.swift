import Foundation
import NightshiftAPI

/// Short texts for transfers, waits and failures.
enum TaskText {
    /// Returns the escaped name of a transfer: its file name, or the end of its URL, or its host.
    static func name(_ task: TaskStatus) -> String {
        // Until a file is at its destination, its name is a number that the service has chosen.
        let file = task.state == .completed && task.destination != nil ? task.file : nil
        if let file = file ?? task.source { return TerminalText.escaped(lastComponent(file)) }
        if let filename = task.destination?.filename { return TerminalText.escaped(filename) }
        return name(ofURL: task.currentURL ?? task.url)
    }

    static func name(ofURL url: String) -> String {
        var rest = url[...]
        if let scheme = rest.range(of: "://") { rest = rest[scheme.upperBound...] }
        rest = rest.prefix { $0 != "?" && $0 != "#" }
        let parts = rest.split(separator: "/", omittingEmptySubsequences: true)
        guard let last = parts.last else { return "?" }
        if parts.count > 1 { return TerminalText.escaped(last.removingPercentEncoding ?? String(last)) }
        // The URL has only an authority, which may begin with a user name and a password.
        return TerminalText.escaped(String(last.split(separator: "@").last ?? last))
    }

    /// Returns `url` without secrets, escaped for the terminal.
    static func shown(url: String) -> String {
        TerminalText.escaped(Redaction.url(url))
    }

    /// Returns text such as "waiting: host not found, again in 4 s".
    static func waiting(_ wait: Wait?, lastError: TransferFailure?, now: Date) -> String {
        "waiting: " + (wait.map { reason($0, lastError: lastError, now: now) } ?? WaitReason.starting.wording.short)
    }

    private static func reason(_ wait: Wait, lastError: TransferFailure?, now: Date) -> String {
        let until = wait.until.map { QuantityText.duration(max(0, $0.timeIntervalSince(now))) }
        if wait.reason == .beginDate, let until { return "starts in " + until }
        let failure: TransferFailure? =
            switch wait.reason {
            case .retry: lastError
            case .hostBackoff: wait.failure ?? lastError
            default: nil
            }
        return [
            failure.map { phrase($0) } ?? wait.reason.wording.short, wait.count.map { "\($0) times" },
            until.map { "again in " + $0 },
        ].compactMap(\.self).joined(separator: ", ")
    }

    /// Returns text such as "good conditions, no cellular network", or nil if the transfer may use any network and any
    /// power.
    static func needs(_ rules: TransferRules) -> String? {
        let moment: String? =
            switch rules.discretion {
            case .full: "good conditions"
            case .relaxed: "fairly good conditions"
            case .none: nil
            }
        let parts = [
            moment, rules.allowsCellularAccess ? nil : "no cellular network",
            rules.allowsExpensiveNetworkAccess ? nil : "no metered network",
            rules.allowsConstrainedNetworkAccess ? nil : "no network with data saver",
            rules.requiresExternalPower ? "external power" : nil,
            rules.minimumBattery > 0 ? "\(rules.minimumBattery) % battery or external power" : nil,
        ].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// Returns advice about a failure that the service retries, or nil for a permanent failure.
    ///
    /// - Parameter saysUntilWhen: whether to say how long the service retries.
    static func advice(_ failure: TransferFailure, task: TaskID, saysUntilWhen: Bool) -> String? {
        guard !failure.isPermanent else { return nil }
        let remedy: String? =
            switch failure.code {
            case .cannotResolveHost:
                "Check the name of the host. If it is wrong, run 'nightshift cancel \(task)'."
            case .cannotConnect:
                "Check the host and the port of the URL, and whether the server runs. If the URL is wrong, run "
                    + "'nightshift cancel \(task)'."
            case .certificateOutOfDate:
                "Check the clock of this machine. If it is right, the owner of the certificate has to renew it."
            case .proxyFailure:
                "Check the address of the proxy: --proxy, or the variables that 'nightshift doctor' lists."
            case .diskFull: "Free some space on the file system of the destination."
            default: nil
            }
        let limit = saysUntilWhen ? " until its time limit (--timeout, 7 days by default)" : ""
        let retries = "The transfer is retried automatically\(limit); 'nightshift retry \(task)' retries it now."
        return [remedy, retries].compactMap(\.self).joined(separator: " ")
    }

    /// Returns text such as "host not found" or "HTTP 503".
    static func phrase(_ failure: TransferFailure) -> String {
        if let status = failure.status, failure.code == .httpStatus || failure.code == .serverUnavailable {
            return "HTTP \(status)"
        }
        return phrase(failure.code)
    }

    static func phrase(_ code: TransferFailure.Code) -> String {
        switch code {
        case .cannotResolveHost: "host not found"
        case .cannotConnect: "no connection to the host"
        case .connectionLost: "connection lost"
        case .idleTimeout: "no data for too long"
        case .truncated: "the transfer ended early"
        case .tlsFailure: "TLS failed"
        case .certificateOutOfDate: "a certificate is out of date"
        case .proxyFailure: "the proxy failed"
        case .protocolError: "the server violated the protocol"
        case .serverUnavailable: "the server is unavailable"
        case .resourceChanged: "the remote file changed"
        case .diskFull: "the disk is full"
        case .inputOutput: "the disk cannot be read or written"
        case .badURL: "the URL is not valid"
        case .unsupportedURL: "the URL scheme is not supported"
        case .httpStatus: "the server answered with an error"
        case .tooManyRedirects: "too many redirects"
        case .redirectRefused: "an unsafe redirect was refused"
        case .untrustedServer: "the server's certificate is not trusted"
        case .clientCertificate: "the client certificate was refused"
        case .checksumMismatch: "the checksum is wrong"
        case .sourceChanged: "the file changed while it was sent"
        case .sourceMissing: "the file to send is missing"
        case .destinationUnavailable: "the destination cannot be written"
        case .destinationExists: "a file of that name already exists"
        case .tooLarge: "the file is too large"
        case .timedOut: "the time limit was reached"
        case .cancelled: "cancelled"
        case .forceQuit: "you force-quit its app"
        case .internalFault: "an internal error of the service"
        }
    }

    /// Returns escaped text such as "host not found: nxdomain.example has no address".
    ///
    /// If the message names the HTTP status, it is not repeated.
    static func full(_ failure: TransferFailure) -> String {
        let message = TerminalText.escaped(failure.message)
        if let status = failure.status, message.hasPrefix("The server answered \(status)") { return message }
        return message.isEmpty ? phrase(failure) : "\(phrase(failure)): \(message)"
    }

    /// Returns advice about a download that failed because of its URL or its login; nil for other tasks.
    static func advice(ended task: TaskStatus) -> String? {
        guard task.hasWrongURL else { return nil }
        return task.error?.status == 401
            ? "To log in, run: nightshift retarget \(task.id) URL --user NAME"
            : "If the URL has expired, run: nightshift retarget \(task.id) URL"
    }

    /// Returns escaped text that says how a task ended, for its last line.
    static func ending(_ task: TaskStatus) -> String {
        switch task.state {
        case .completed:
            var parts: [String] = []
            if task.kind == .upload {
                parts.append(QuantityText.size(task.countOfBytesSent) + " sent")
                if let status = task.response?.status { parts.append("HTTP \(status)") }
            } else {
                parts.append(QuantityText.size(task.countOfBytesReceived))
            }
            if !task.verified.isEmpty {
                parts.append(task.verified.map { TerminalText.escaped($0) }.joined(separator: ", ") + " verified")
            }
            return parts.joined(separator: ", ")
        case .failed:
            return "failed: " + (task.error.map { full($0) } ?? "the reason is unknown")
        case .cancelled:
            return "cancelled"
        case .suspended, .waiting, .running, .finishing:
            return task.state.name
        }
    }

    static func lastComponent(_ path: String) -> String {
        path.split(separator: "/").last.map { String($0) } ?? path
    }
}

extension TaskStatus {
    /// Whether a download failed with a status that usually means that its URL has expired.
    var hasWrongURL: Bool {
        guard state == .failed, kind == .download, let status = error?.status else { return false }
        return [401, 403, 404, 410].contains(status)
    }
}
