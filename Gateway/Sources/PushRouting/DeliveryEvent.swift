package import PushProtocol

/// What becomes of a push, in the words of the delivery log.
package enum DeliveryEvent: Sendable, Hashable {
    case received
    case storedOffline
    case storedPower
    case storedPaused
    case storedOpportunistic
    /// Milliseconds since 1970.
    case held(until: Int64)
    case rodeAlong(Company)
    case delivered
    case deliveredFromStorage
    case discarded(Discard)

    /// With what a push rode along.
    package enum Company: Sendable, Hashable {
        case push(PushID)
        case keepAlive
        case connect
    }

    package enum Discard: Sendable, Hashable {
        case unregistered
        case disabled
        case expired
        case replaced(by: PushID)
        /// Newer messages of UnifiedPush needed the room.
        case evicted
        /// Its sender has taken it back.
        case withdrawn
        case notConnected
        case rateLimit
        case power
        case notNow
        case busy
        case connectionEnded
    }

    /// The word that the log stores and prints.
    package var name: String {
        switch self {
        case .received: "received"
        case .storedOffline: "stored-offline"
        case .storedPower: "stored-power"
        case .storedPaused: "stored-paused"
        case .storedOpportunistic: "stored-opportunistic"
        case .held: "held"
        case .rodeAlong: "rode-along"
        case .delivered: "delivered"
        case .deliveredFromStorage: "delivered-from-storage"
        case .discarded(let why):
            switch why {
            case .unregistered: "discarded-unregistered"
            case .disabled: "discarded-disabled"
            case .expired: "discarded-expired"
            case .replaced: "discarded-replaced"
            case .evicted: "discarded-evicted"
            case .withdrawn: "discarded-withdrawn"
            case .notConnected: "discarded-not-connected"
            case .rateLimit: "discarded-rate-limit"
            case .power: "discarded-power"
            case .notNow: "discarded-not-now"
            case .busy: "discarded-busy"
            case .connectionEnded: "discarded-connection-ended"
            }
        }
    }

    /// What belongs to the word: a time in milliseconds, another push's id, or `keep-alive` and `connect`.
    package var detail: String? {
        switch self {
        case .held(let until): "\(until)"
        case .rodeAlong(.push(let id)), .discarded(.replaced(let id)): id.description
        case .rodeAlong(.keepAlive): "keep-alive"
        case .rodeAlong(.connect): "connect"
        default: nil
        }
    }

    /// A sentence for people. `time` writes milliseconds since 1970.
    package static func sentence(name: String, detail: String?, time: (Int64) -> String) -> String {
        let detail = detail ?? ""
        return switch name {
        case "received": "Received."
        case "stored-offline": "Stored: the device is offline."
        case "stored-power": "Stored: power considerations of the device."
        case "stored-paused": "Stored: the device has paused this topic."
        case "stored-opportunistic": "Stored: the device takes this topic with the next exchange."
        case "held": "Held: the rate limit of silent pushes, until \(Int64(detail).map(time) ?? detail)."
        case "rode-along":
            switch detail {
            case "keep-alive": "Rode along with a keep-alive."
            case "connect": "Rode along with the device's connect."
            default: "Rode along with \(detail)."
            }
        case "delivered": "Delivered."
        case "delivered-from-storage": "Delivered from storage."
        case "discarded-unregistered": "Discarded: the token is not registered any more."
        case "discarded-disabled": "Discarded: the device ignores this topic."
        case "discarded-expired": "Discarded: expired."
        case "discarded-replaced": "Discarded: replaced by \(detail)."
        case "discarded-evicted": "Discarded: newer messages of the registration needed the room."
        case "discarded-withdrawn": "Discarded: its sender has taken it back."
        case "discarded-not-connected": "Discarded: one attempt only, and the device is offline."
        case "discarded-rate-limit": "Discarded: one attempt only, and the rate limit of silent pushes holds it back."
        case "discarded-power": "Discarded: one attempt only, and the device is not to be woken for it."
        case "discarded-not-now": "Discarded: one attempt only, and the device does not take this topic now."
        case "discarded-busy": "Discarded: one attempt only, and too much is on its way to the device."
        case "discarded-connection-ended": "Discarded: one attempt only, and the connection ended before it arrived."
        default: name
        }
    }
}
