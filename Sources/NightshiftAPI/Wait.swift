package import Foundation

/// Why a task that wants to run does not, since when, and what ends the wait.
package struct Wait: Hashable, Sendable, Codable {
    package var reason: WaitReason
    package var since: Date
    /// When the service looks again; nil when an event ends the wait, not a time.
    package var until: Date?
    /// Particulars of this wait: a host, a number of bytes, the server's words.
    package var detail: String?
    /// How many attempts in a row have ended in such a wait, this one included; nil for one, and for waits of other kinds.
    package var count: Int?
    /// For ``WaitReason/hostBackoff``: the failure for which all that go this way pause. It may be another task's.
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

/// Everything a task can wait for.
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

    /// The reason in a person's words.
    package var sentence: String {
        switch self {
        case .starting: "It is about to start."
        case .connectionLimit: "Its host already has as many connections as its session allows."
        case .serviceLimit: "The service already runs as many transfers as it may."
        case .beginDate: "It was asked not to begin before a certain time."
        case .retry: "Its last attempt failed; the next one follows after a pause that grows with each failure."
        case .retryAfter: "The server asked to be left alone for a while."
        case .hostBackoff: "Its host, or the way there, is in trouble; all transfers that go this way pause together."
        case .network: "There is no network."
        case .diskSpace: "There is not enough free space for the file."
        case .smallerFirst: "It is large and gave its connection to smaller transfers for the moment."
        case .othersFirst:
            "Its last attempt brought nothing that could be kept; transfers that have not failed go first, in half the places."
        case .slow: "It brought almost nothing, and others have its place for the moment."
        case .answer: "Its app was asked something and has not answered yet."
        case .relaunchDelay: "Its app added it in the background, and has been woken often lately."
        case .expensiveNetwork: "The network costs by the byte, which it must not use."
        case .constrainedNetwork: "The network is to carry as little as possible, and it must not use such a one."
        case .cellularNetwork: "The network is a mobile one, which it must not use."
        case .externalPower: "It waits for external power."
        case .battery: "It asks for more than the battery is known to hold."
        case .discretionary:
            "It can wait for a good moment: external power or enough battery, and a network that is free."
        case .doze: "The device dozes; it waits for the next window."
        case .sleeping: "The machine is about to sleep."
        case .serviceFault: "It takes the service down: it is held back, so that everything else goes on."
        case .doubtfulAnswer:
            "The last answer does not look like its server's; it is asked again before any bytes are given up for it."
        case .portal: "The network wants somebody to log in; what it answered until then is not believed."
        case .destinationSilent: "The file system of its files does not answer."
        }
    }

    /// What ends the wait when no time is set.
    package var endedBy: String {
        switch self {
        case .starting: "the service's next step"
        case .connectionLimit: "another transfer with this host ending"
        case .serviceLimit: "another transfer ending"
        case .beginDate, .retry, .retryAfter, .hostBackoff, .relaunchDelay, .doubtfulAnswer, .slow: "time"
        case .network: "a network coming up"
        case .diskSpace: "space becoming free"
        case .smallerFirst: "the smaller transfers ending"
        case .othersFirst: "a place for it, or the others being through"
        case .answer: "the app's answer"
        case .expensiveNetwork, .constrainedNetwork, .cellularNetwork: "another network"
        case .externalPower: "external power"
        case .battery: "the battery being charged"
        case .discretionary: "power or a network that suits it, or its time running out"
        case .doze: "the next window, or the user"
        case .sleeping: "the machine waking"
        case .serviceFault: "'nightshift resume', which tries it once more"
        case .portal: "somebody logging in to the network"
        case .destinationSilent: "the file system answering"
        }
    }
}
