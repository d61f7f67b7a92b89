import Foundation
import NightshiftAPI

/// Words for tasks, waits and failures, short enough for a line.
enum TaskText {
    /// What a person calls the task: its file's name, else the end of its URL, else the host. Escaped.
    static func name(_ task: TaskStatus) -> String {
        // A file that did not get to its destination is kept under a number of the service's own.
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
        // Only the authority is there, and it may begin with a name and password.
        return TerminalText.escaped(String(last.split(separator: "@").last ?? last))
    }

    /// `url` without what lets people in. Escaped.
    static func shown(url: String) -> String {
        TerminalText.escaped(Redaction.url(url))
    }

    /// "waiting: host not found, again in 4 s".
    static func waiting(_ wait: Wait?, lastError: TransferFailure?, now: Date) -> String {
        guard let wait else { return "waiting: about to start" }
        let times = wait.count.map { "\($0) times" }
        let again = wait.until.map { "again in " + QuantityText.duration(max(0, $0.timeIntervalSince(now))) }
        let parts: [String?] =
            switch wait.reason {
            case .starting: ["about to start"]
            case .connectionLimit: ["its host has enough connections"]
            case .serviceLimit: ["enough transfers are running"]
            case .beginDate:
                [wait.until.map { "begins in " + QuantityText.duration($0.timeIntervalSince(now)) } ?? "begins later"]
            case .retry: [lastError.map { phrase($0) } ?? "the last attempt failed", times, again]
            case .retryAfter: ["the server asked for a pause", times, again]
            case .hostBackoff: [(wait.failure ?? lastError).map { phrase($0) } ?? "its host is in trouble", again]
            case .network: ["no network"]
            case .diskSpace: ["not enough free space", times, again]
            case .smallerFirst: ["smaller transfers go first"]
            case .othersFirst: ["others go first that have not failed"]
            case .slow: ["it brought almost nothing, others have its place", again]
            case .answer: ["its app was asked and has not answered"]
            case .relaunchDelay: ["its app was woken often lately", again]
            case .expensiveNetwork: ["the network costs by the byte"]
            case .constrainedNetwork: ["the network is to carry as little as possible"]
            case .cellularNetwork: ["the network is a mobile one"]
            case .externalPower: ["no external power"]
            case .battery: ["not enough battery"]
            case .discretionary: ["for a good moment"]
            case .doze: ["the device dozes"]
            case .sleeping: ["the machine sleeps"]
            case .serviceFault: ["held back, since it takes the service down"]
            case .doubtfulAnswer: ["the last answer does not look like its server's", again]
            case .portal: ["the network wants somebody to log in"]
            case .destinationSilent: ["the file system of its files does not answer"]
            }
        return "waiting: " + parts.compactMap { $0 }.joined(separator: ", ")
    }

    /// "a good moment, no mobile network"; nil where it takes any network and any power.
    static func needs(_ rules: TransferRules) -> String? {
        let moment: String? =
            switch rules.discretion {
            case .full: "a good moment"
            case .relaxed: "a fairly good moment"
            case .none: nil
            }
        let parts = [
            moment, rules.allowsCellularAccess ? nil : "no mobile network",
            rules.allowsExpensiveNetworkAccess ? nil : "no network that costs by the byte",
            rules.allowsConstrainedNetworkAccess ? nil : "no network that is to carry little",
            rules.requiresExternalPower ? "external power" : nil,
            rules.minimumBattery > 0 ? "\(rules.minimumBattery) % of battery or external power" : nil,
        ].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// What a person at a terminal can do about a failure that the service goes on trying to get past; nil for most.
    static func advice(_ failure: TransferFailure, task: TaskID) -> String? {
        switch failure.code {
        case .cannotResolveHost:
            "Is the name right? If not, 'nightshift cancel \(task)' ends it. It is tried again by itself, and at once by "
                + "'nightshift retry \(task)'."
        case .certificateOutOfDate:
            "Is this machine's clock right? If it is, the certificate has to be renewed where it is used. It is tried again by "
                + "itself, and at once by 'nightshift retry \(task)'."
        case .diskFull:
            "Make room where the file goes: it goes on by itself then, and at once by 'nightshift retry \(task)'. "
                + "'nightshift why \(task)' says how much it needs."
        default: nil
        }
    }

    /// "host not found", "HTTP 503".
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
        case .truncated: "the transfer broke off"
        case .tlsFailure: "TLS failed"
        case .certificateOutOfDate: "a certificate is out of date"
        case .proxyFailure: "the proxy failed"
        case .protocolError: "the server broke the protocol"
        case .serverUnavailable: "the server is unavailable"
        case .resourceChanged: "the remote file changed"
        case .diskFull: "the disk is full"
        case .inputOutput: "the disk cannot be read or written"
        case .badURL: "the URL is malformed"
        case .unsupportedURL: "the URL is of an unsupported kind"
        case .httpStatus: "the server answered with an error"
        case .tooManyRedirects: "too many redirects"
        case .redirectRefused: "an unsafe redirect"
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
        case .forceQuit: "the user force-quit its app"
        case .internalFault: "a fault of the service itself"
        }
    }

    /// "host not found: nxdomain.example has no address". Escaped.
    static func full(_ failure: TransferFailure) -> String {
        let message = TerminalText.escaped(failure.message)
        return message.isEmpty ? phrase(failure) : "\(phrase(failure)): \(message)"
    }

    /// How a task has ended, for its last line. Escaped.
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
            return "failed: " + (task.error.map { full($0) } ?? "no reason was given")
        case .cancelled:
            return "cancelled"
        case .suspended, .waiting, .running, .finishing:
            return task.state.rawValue
        }
    }

    static func lastComponent(_ path: String) -> String {
        path.split(separator: "/").last.map { String($0) } ?? path
    }
}
