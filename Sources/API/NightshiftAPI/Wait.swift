package import Foundation

/// The reason why a transfer waits, with the start and the end of the wait.
package struct Wait: Hashable, Sendable, Codable {
    package var reason: WaitReason
    package var since: Date
    /// The time of the next check; nil if the wait ends with an event instead.
    package var until: Date?
    /// Details of this wait: a host, a number of bytes, or the message of the server.
    package var detail: String?
    /// The number of successive attempts that ended in such a wait, including the last attempt. The number is nil for
    /// one attempt and for other kinds of waits.
    package var count: Int?
    /// The failure because of which all transfers on this route wait, for ``WaitReason/hostBackoff``. It may be the
    /// failure of another transfer.
    package var failure: TransferFailure?

    package init(
        reason: WaitReason, since: Date, until: Date? = nil, detail: String? = nil, count: Int? = nil,
        failure: TransferFailure? = nil
    ) {
        self.reason = reason
        self.since = since
        self.until = until
        self.detail = detail
        self.count = count
        self.failure = failure
    }
}

/// A reason why a transfer waits.
package enum WaitReason: String, Sendable, Codable, CaseIterable, Worded {
    case starting
    case connectionLimit
    case serviceLimit
    case beginDate
    case retry
    case retryAfter
    case hostBackoff
    case network
    case diskSpace
    case smallerFirst
    case othersFirst
    case slow
    case answer
    case relaunchDelay
    case expensiveNetwork
    case constrainedNetwork
    case cellularNetwork
    case externalPower
    case battery
    case discretionary
    case doze
    case sleeping
    case serviceFault
    case doubtfulAnswer
    case portal
    case destinationSilent

    package var wording: Wording { Wording(short: row.short, sentence: row.sentence) }

    /// The event that ends the wait if no time is set.
    package var endedBy: String { row.endedBy }

    private var row: (short: String, sentence: String, endedBy: String) {
        switch self {
        case .starting:
            ("about to start", "The transfer is about to start.", endedBy: "the service starting the transfer")
        case .connectionLimit:
            (
                "no free connection to its host",
                "The host already has as many connections as the transfer's session allows.",
                endedBy: "the end of another transfer with this host"
            )
        case .serviceLimit:
            (
                "the maximum number of transfers is running",
                "The service already runs the maximum number of transfers.", endedBy: "the end of another transfer"
            )
        case .beginDate:
            ("starts later", "The transfer was requested with a start time, which is in the future.", endedBy: "time")
        case .retry:
            (
                "the last attempt failed",
                "The last attempt failed. The delay before the next attempt grows on average, up to 5 minutes.",
                endedBy: "time"
            )
        case .retryAfter:
            ("the server asked for a delay", "The server asked for a delay before the next request.", endedBy: "time")
        case .hostBackoff:
            (
                "its host is failing",
                "The host or its proxy is failing. All transfers that use this route wait together.", endedBy: "time"
            )
        case .network:
            ("no network", "No network is available.", endedBy: "an available network")
        case .diskSpace:
            (
                "not enough free space", "There is not enough free disk space for the file.",
                endedBy: "enough free disk space"
            )
        case .smallerFirst:
            (
                "smaller transfers run first", "The transfer is large and lets smaller transfers run first.",
                endedBy: "the end of the smaller transfers"
            )
        case .othersFirst:
            (
                "transfers that have not failed run first",
                "The last attempt kept no bytes. Half of the connections are reserved for transfers that have not failed.",
                endedBy: "a free connection, or the end of the other transfers"
            )
        case .slow:
            (
                "it was very slow, and others run instead",
                "The transfer was very slow, and gave its connection to a transfer with another host.", endedBy: "time"
            )
        case .answer:
            (
                "its app has not answered a question yet",
                "The app has not yet answered a question about this transfer.", endedBy: "the app's answer"
            )
        case .relaunchDelay:
            (
                "its app was woken often lately",
                "The app added the transfer in the background, and has been woken often lately.", endedBy: "time"
            )
        case .expensiveNetwork:
            (
                "the network is metered",
                "The network is metered, and this transfer is not allowed to use metered networks.",
                endedBy: "another network"
            )
        case .constrainedNetwork:
            (
                "data saver is on for this network",
                "Data saver is on for this network, and this transfer is not allowed to use it.",
                endedBy: "another network"
            )
        case .cellularNetwork:
            (
                "the network is cellular",
                "The network is cellular, and this transfer is not allowed to use cellular networks.",
                endedBy: "another network"
            )
        case .externalPower:
            ("no external power", "The transfer requires external power.", endedBy: "external power")
        case .battery:
            (
                "not enough battery", "The battery level is unknown or lower than this transfer requires.",
                endedBy: "charging the battery"
            )
        case .discretionary:
            (
                "for good conditions",
                "The transfer waits for good conditions: external power or enough battery, and an unmetered network.",
                endedBy: "suitable power and network, or the approaching deadline"
            )
        case .doze:
            (
                "the device is dozing", "The device is dozing. The transfer waits for the next maintenance window.",
                endedBy: "the next maintenance window, or use of the device"
            )
        case .sleeping:
            (
                "the machine is about to sleep", "The machine is about to sleep.",
                endedBy: "the machine waking from sleep"
            )
        case .serviceFault:
            (
                "blocked: the service crashed during this transfer",
                "The service crashed repeatedly while it ran this transfer. The transfer is blocked to protect all others.",
                endedBy: "'nightshift resume', which tries the transfer once more"
            )
        case .doubtfulAnswer:
            (
                "the last response does not look like one from its server",
                "The last response does not look like one from this server. The service asks again before discarding bytes.",
                endedBy: "time"
            )
        case .portal:
            (
                "the network requires a login",
                "The network requires a login. Responses received before the login are not trusted.",
                endedBy: "a login to the network"
            )
        case .destinationSilent:
            (
                "the file system of its files does not respond",
                "The file system that holds the transfer's files does not respond.",
                endedBy: "a response of the file system"
            )
        }
    }
}
