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
package enum WaitReason: String, Sendable, Codable, CaseIterable {
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

    /// The reason as a sentence for display.
    package var sentence: String {
        switch self {
        case .starting: "The transfer is about to start."
        case .connectionLimit: "The host already has as many connections as the transfer's session allows."
        case .serviceLimit: "The service already runs the maximum number of transfers."
        case .beginDate: "The transfer was requested with a start time, which is in the future."
        case .retry: "The last attempt failed. The delay before the next attempt grows on average, up to 5 minutes."
        case .retryAfter: "The server asked for a delay before the next request."
        case .hostBackoff: "The host or its proxy is failing. All transfers that use this route wait together."
        case .network: "No network is available."
        case .diskSpace: "There is not enough free disk space for the file."
        case .smallerFirst: "The transfer is large and lets smaller transfers run first."
        case .othersFirst:
            "The last attempt kept no bytes. Half of the connections are reserved for transfers that have not failed."
        case .slow: "The transfer was very slow, and gave its connection to a transfer with another host."
        case .answer: "The app has not yet answered a question about this transfer."
        case .relaunchDelay: "The app added the transfer in the background, and has been woken often lately."
        case .expensiveNetwork: "The network is metered, and this transfer is not allowed to use metered networks."
        case .constrainedNetwork: "Data saver is on for this network, and this transfer is not allowed to use it."
        case .cellularNetwork: "The network is cellular, and this transfer is not allowed to use cellular networks."
        case .externalPower: "The transfer requires external power."
        case .battery: "The battery level is unknown or lower than this transfer requires."
        case .discretionary:
            "The transfer waits for good conditions: external power or enough battery, and an unmetered network."
        case .doze: "The device is dozing. The transfer waits for the next maintenance window."
        case .sleeping: "The machine is about to sleep."
        case .serviceFault:
            "The service crashed repeatedly while it ran this transfer. The transfer is blocked to protect all others."
        case .doubtfulAnswer:
            "The last response does not look like one from this server. The service asks again before discarding bytes."
        case .portal: "The network requires a login. Responses received before the login are not trusted."
        case .destinationSilent: "The file system that holds the transfer's files does not respond."
        }
    }

    /// The event that ends the wait if no time is set.
    package var endedBy: String {
        switch self {
        case .starting: "the service starting the transfer"
        case .connectionLimit: "the end of another transfer with this host"
        case .serviceLimit: "the end of another transfer"
        case .beginDate, .retry, .retryAfter, .hostBackoff, .relaunchDelay, .doubtfulAnswer, .slow: "time"
        case .network: "an available network"
        case .diskSpace: "enough free disk space"
        case .smallerFirst: "the end of the smaller transfers"
        case .othersFirst: "a free connection, or the end of the other transfers"
        case .answer: "the app's answer"
        case .expensiveNetwork, .constrainedNetwork, .cellularNetwork: "another network"
        case .externalPower: "external power"
        case .battery: "charging the battery"
        case .discretionary: "suitable power and network, or the approaching deadline"
        case .doze: "the next maintenance window, or use of the device"
        case .sleeping: "the machine waking from sleep"
        case .serviceFault: "'nightshift resume', which tries the transfer once more"
        case .portal: "a login to the network"
        case .destinationSilent: "a response of the file system"
        }
    }
}
