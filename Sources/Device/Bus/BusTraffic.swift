/// A request on the bus.
///
/// Questions that may be asked again have a number, so that a late answer to an old one is told apart.
enum BusRequest: Hashable, Sendable {
    /// For signals, by a match rule of the D-Bus specification.
    case subscribe(String)
    case owner(BusService)
    case properties(BusObject, number: Int)
    case inhibit(why: String, number: Int)
    /// NetworkManager's object for an interface, and that object's state.
    case device(interface: String, number: Int)
    case deviceState(path: String, number: Int)
}

/// An event from the bus.
enum BusEvent: Equatable, Sendable {
    case subscriptionFailed(BusFailure)
    /// The unique name of the connection that is the service now; nil when nobody is.
    case owner(BusService, String?)
    case properties(BusObject, number: Int, Result<[String: BusValue], BusFailure>)
    case changed(BusObject, sender: String, PropertyChange)
    /// Whether sleep begins (or has ended); nil where the signal cannot be read.
    case prepareForSleep(sender: String, Bool?)
    /// Somebody has logged in or out.
    case sessionsChanged(sender: String)
    /// The descriptor of an inhibitor lock, which is the receiver's to close.
    case lock(number: Int, Result<Int32, BusFailure>)
    /// nil where there is none, or it does not say.
    case device(number: Int, path: String?)
    case deviceState(number: Int, Int64?)
}

/// The signal PropertiesChanged.
struct PropertyChange: Equatable, Sendable {
    var changed: [String: BusValue]
    /// Properties whose new values have to be asked for.
    var invalidated: Set<String>
}

extension BusRequest {
    /// Whether the picture is incomplete as long as it has no answer.
    var isAboutDevice: Bool {
        switch self {
        case .owner, .properties, .device, .deviceState: true
        case .subscribe, .inhibit: false
        }
    }

    /// Everything that has to be heard before anything is asked, so that nothing is missed in between.
    static var subscriptions: [BusRequest] {
        let owners = BusService.allCases.map { MessageBus.ownerChanged($0.rawValue) }
        let properties = BusObject.allCases.map { object in
            "type='signal',sender='\(object.service.rawValue)',path='\(object.path)',"
                + "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',arg0='\(object.interface)'"
        }
        let logind = BusObject.logind
        // logind does not announce IdleHint when somebody logs in or out on a terminal.
        let signals = ["PrepareForSleep", "SessionNew", "SessionRemoved"].map { member in
            "type='signal',sender='\(logind.service.rawValue)',path='\(logind.path)',"
                + "interface='\(logind.interface)',member='\(member)'"
        }
        return (owners + properties + signals).map(BusRequest.subscribe)
    }
}
