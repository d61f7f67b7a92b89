import NightshiftAPI

/// The services on the system bus that know of places, by their names there.
enum LocationService: String, Sendable, CaseIterable {
    case geoClue = "org.freedesktop.GeoClue2"
    case modemManager = "org.freedesktop.ModemManager1"
}

/// What a client of GeoClue is for.
enum GeoClueUse: Sendable, CaseIterable {
    /// One fix.
    case fix
    /// Changes of place, for as long as they are watched.
    case changes
    /// Whether GeoClue answers at all: it is made and deleted.
    case probe
}

/// A request on the bus about places.
///
/// Those that may be asked again have a number, so that a late answer to an old one is told apart.
enum LocationBusRequest: Hashable, Sendable {
    /// For signals, by a match rule of the D-Bus specification.
    case subscribe(String)
    /// The services that the bus would start for whoever calls them.
    case activatable
    case owner(LocationService)
    /// Starts GeoClue where it does not run.
    case createClient(GeoClueUse, number: Int)
    /// Says what a client is for and starts it.
    case startClient(path: String, GeoClueUse, GeoClueClient.Demand, number: Int)
    case deleteClient(path: String)
    /// The properties of a place.
    case place(path: String, GeoClueUse, number: Int)
    case modems(number: Int)
    case setUp(path: String, sources: UInt32, signals: Bool, number: Int)
}

/// An event from the bus about places.
enum LocationBusEvent: Equatable, Sendable {
    /// Nil where the bus does not say.
    case activatable(Set<String>?)
    /// The bus would start other services now. Older ones do not say so.
    case activatableChanged
    /// The unique name of the connection that is the service now; nil when nobody is.
    case owner(LocationService, String?)
    case clientCreated(GeoClueUse, number: Int, Result<String, BusFailure>)
    /// Nil where it has started.
    case clientStarted(GeoClueUse, number: Int, BusFailure?)
    case updated(client: String, place: String, sender: String)
    case place(GeoClueUse, number: Int, GeoClueReading?)
    case modems(number: Int, Result<[String: ModemReading], BusFailure>)
    case modemChanged(path: String, sender: String, ModemReading)
    /// Modems have come or gone.
    case modemsChanged(sender: String)
    /// Nil where it was done.
    case setUp(path: String, number: Int, BusFailure?)
}

extension LocationBusRequest {
    /// Everything that has to be heard before anything is asked, so that nothing is missed in between.
    static var subscriptions: [LocationBusRequest] {
        let owners = LocationService.allCases.map { MessageBus.ownerChanged($0.rawValue) }
        let (geoClue, modems) = (LocationService.geoClue.rawValue, LocationService.modemManager.rawValue)
        return
            (owners + [
                "type='signal',sender='\(MessageBus.daemon)',interface='\(MessageBus.daemon)',"
                    + "member='ActivatableServicesChanged'",
                "type='signal',sender='\(geoClue)',interface='\(geoClue).Client',member='LocationUpdated'",
                "type='signal',sender='\(modems)',interface='org.freedesktop.DBus.Properties',"
                    + "member='PropertiesChanged',arg0='\(modems).Modem.Location'",
                // Its properties would tell of each change of the signal's strength.
                "type='signal',sender='\(modems)',interface='\(modems).Modem',member='StateChanged'",
                "type='signal',sender='\(modems)',interface='org.freedesktop.DBus.ObjectManager'",
            ]).map(LocationBusRequest.subscribe)
    }
}
