import NightshiftAPI

/// The services on the system bus that report locations, by their bus names.
enum LocationBusService: String, Sendable, CaseIterable {
    case geoClue = "org.freedesktop.GeoClue2"
    case modemManager = "org.freedesktop.ModemManager1"
}

/// The purpose of a GeoClue client.
enum GeoClueUse: Sendable, CaseIterable {
    /// One fix.
    case fix
    /// Changes of location while they are watched.
    case changes
    /// A check that GeoClue answers: the client is created and deleted.
    case probe
}

/// A request on the bus about locations.
///
/// Requests that may be repeated have a number, so that a late answer to an earlier one is recognised.
enum LocationBusRequest: Hashable, Sendable {
    /// Subscribes to signals by a match rule of the D-Bus specification.
    case subscribe(String)
    /// Requests the names of the services that the bus would start on a call.
    case activatable
    case owner(LocationBusService)
    /// Creates a client. Starts GeoClue if it is not running.
    case createClient(GeoClueUse, number: Int)
    /// Sets the demand of a client and starts it.
    case startClient(path: String, GeoClueUse, GeoClueClient.Demand, number: Int)
    case deleteClient(path: String)
    /// Requests the properties of a location.
    case place(path: String, GeoClueUse, number: Int)
    case modems(number: Int)
    case setUp(path: String, sources: UInt32, signals: Bool, number: Int)
}

/// An event from the bus about locations.
enum LocationBusEvent: Equatable, Sendable {
    /// The startable services; nil if the bus does not report them.
    case activatable(Set<String>?)
    /// The list of startable services has changed. Older buses do not report this.
    case activatableChanged
    /// The unique name of the service's connection; nil if the service has no owner.
    case owner(LocationBusService, String?)
    case clientCreated(GeoClueUse, number: Int, Result<String, BusFailure>)
    /// The result of a start; nil if the client has started.
    case clientStarted(GeoClueUse, number: Int, BusFailure?)
    case updated(client: String, place: String, sender: String)
    case place(GeoClueUse, number: Int, GeoClueReading?)
    case modems(number: Int, Result<[String: ModemReading], BusFailure>)
    case modemChanged(path: String, sender: String, ModemReading)
    /// Modems have been added or removed.
    case modemsChanged(sender: String)
    /// The result of a setup; nil if it succeeded.
    case setUp(path: String, number: Int, BusFailure?)
}

extension LocationBusRequest {
    /// All subscriptions. They are made before any request, so that no change is missed.
    static var subscriptions: [LocationBusRequest] {
        let owners = LocationBusService.allCases.map { MessageBus.ownerChanged($0.rawValue) }
        let (geoClue, modems) = (LocationBusService.geoClue.rawValue, LocationBusService.modemManager.rawValue)
        return
            (owners + [
                "type='signal',sender='\(MessageBus.daemon)',interface='\(MessageBus.daemon)',"
                    + "member='ActivatableServicesChanged'",
                "type='signal',sender='\(geoClue)',interface='\(geoClue).Client',member='LocationUpdated'",
                "type='signal',sender='\(modems)',interface='org.freedesktop.DBus.Properties',"
                    + "member='PropertiesChanged',arg0='\(modems).Modem.Location'",
                // Its properties would also announce each change of the signal strength.
                "type='signal',sender='\(modems)',interface='\(modems).Modem',member='StateChanged'",
                "type='signal',sender='\(modems)',interface='org.freedesktop.DBus.ObjectManager'",
            ]).map(LocationBusRequest.subscribe)
    }
}
