/// A request on the bus.
///
/// Requests that may be repeated have a number, so that a late answer to an earlier one is recognised.
enum BusRequest: Hashable, Sendable {
    /// Subscribes to signals by a match rule of the D-Bus specification.
    case subscribe(String)
    case owner(BusService)
    case properties(BusObject, number: Int)
    case inhibit(why: String, number: Int)
    /// Requests NetworkManager's object for an interface, and that object's state.
    case device(interface: String, number: Int)
    case deviceState(path: String, number: Int)
}

/// An event from the bus.
enum BusEvent: Equatable, Sendable {
    case subscriptionFailed(BusFailure)
    /// The unique name of the service's connection; nil if the service has no owner.
    case owner(BusService, String?)
    case properties(BusObject, number: Int, Result<[String: BusValue], BusFailure>)
    case changed(BusObject, sender: String, PropertyChange)
    /// Whether sleep begins (true) or has ended (false); nil if the signal cannot be read.
    case prepareForSleep(sender: String, Bool?)
    /// A user has logged in or out.
    case sessionsChanged(sender: String)
    /// The descriptor of an inhibitor lock. The receiver must close it.
    case lock(number: Int, Result<Int32, BusFailure>)
    /// The object's path; nil if there is no such object or the answer has no path.
    case device(number: Int, path: String?)
    case deviceState(number: Int, Int64?)
}

/// A PropertiesChanged signal.
struct PropertyChange: Equatable, Sendable {
    var changed: [String: BusValue]
    /// Properties whose new values must be requested.
    var invalidated: Set<String>
}

extension BusRequest {
    /// Whether the report is incomplete until this request is answered.
    var isAboutDevice: Bool {
        switch self {
        case .owner, .properties, .device, .deviceState: true
        case .subscribe, .inhibit: false
        }
    }

    /// All subscriptions. They are made before any request, so that no change is missed.
    static var subscriptions: [BusRequest] {
        let owners = BusService.allCases.map { MessageBus.ownerChanged($0.rawValue) }
        let properties = BusObject.allCases.map { object in
            "type='signal',sender='\(object.service.rawValue)',path='\(object.path)',"
                + "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',arg0='\(object.interface)'"
        }
        let logind = BusObject.logind
        // logind does not announce IdleHint when a user logs in or out on a terminal.
        let signals = ["PrepareForSleep", "SessionNew", "SessionRemoved"].map { member in
            "type='signal',sender='\(logind.service.rawValue)',path='\(logind.path)',"
                + "interface='\(logind.interface)',member='\(member)'"
        }
        return (owners + properties + signals).map(BusRequest.subscribe)
    }
}
