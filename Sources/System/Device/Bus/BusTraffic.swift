/// A request on the bus.
///
/// A request that may be repeated has a number, which distinguishes its answer from a late answer to an earlier
/// request.
enum BusRequest: Hashable, Sendable {
    /// Subscribes to the signals that match a rule (D-Bus specification, "Match Rules").
    case subscribe(String)
    case owner(BusService)
    case properties(BusObject, number: Int)
    case inhibit(why: String, number: Int)
    /// Requests NetworkManager's object for an interface, and the state of that object.
    case device(interface: String, number: Int)
    case deviceState(path: String, number: Int)
}

/// An event from the bus about device conditions.
enum BusEvent: Equatable, Sendable {
    case subscriptionFailed(BusFailure)
    /// The unique name of a service's connection; nil if no process owns the service's name.
    case owner(BusService, String?)
    case properties(BusObject, number: Int, Result<[String: BusValue], BusFailure>)
    case changed(BusObject, sender: String, PropertyChange)
    /// The beginning (true) or end (false) of a sleep; nil if the signal cannot be read.
    case prepareForSleep(sender: String, Bool?)
    /// The login or logout of a user.
    case sessionsChanged(sender: String)
    /// The descriptor of an inhibitor lock. The receiver must close it.
    case lock(number: Int, Result<Int32, BusFailure>)
    /// The path of the object for an interface; nil if there is no such object, or if the answer has no path.
    case device(number: Int, path: String?)
    case deviceState(number: Int, Int64?)
}

/// The content of a PropertiesChanged signal.
struct PropertyChange: Equatable, Sendable {
    var changed: [String: BusValue]
    /// The names of properties whose new values must be requested.
    var invalidated: Set<String>
}

extension BusRequest {
    /// Whether the report is incomplete until the request is answered.
    var isAboutDevice: Bool {
        switch self {
        case .owner, .properties, .device, .deviceState: true
        case .subscribe, .inhibit: false
        }
    }

    /// The subscriptions to all signals. They are made before any request, so that no change is missed.
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
