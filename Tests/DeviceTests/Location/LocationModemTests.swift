import NightshiftAPI
import Testing

@testable import Device

/// Tests of the use of modems for location changes, and of GeoClue while no modem is available.
extension LocationMachineTests {
    @Test(arguments: [
        ("262,02,1F,A1B2C3,4E", "262,02,1F,A1B2C3,4E"), ("262,02,1f,a1b2c3,4e", "262,02,1F,A1B2C3,4E"),
        ("262,02,0,1,", "262,02,0,1,"), ("262,02,1F,1", "262,02,1F,1"), (",,0,0,0", nil), ("0,0,0,1,0", nil),
        ("262,02,1F,0,4E", nil), ("262,,1F,1,4E", nil), ("262,02", nil), ("262,02,1F,1,4E,7", nil), ("", nil),
        ("262,02,1F,G,4E", nil), ("262,0x2,1F,1,4E", nil), (String(repeating: "1", count: 65) + ",1,1,1", nil),
    ])
    func `R7: A cell's identity distinguishes it from other cells`(_ text: String, _ cell: String?) {
        #expect(CellIdentity.checked(text) == cell)
    }

    /// Returns a bus side that watches changes, with a bus that can start GeoClue and a modem with this reading.
    private static func watching(_ reading: ModemReading) -> (BusSide, [LocationBusRequest]) {
        var bus = BusSide()
        _ = bus.connection(isWanted: true, now: 0)
        _ = bus.connected()
        let said: [LocationBusEvent] = [
            .activatable(["org.freedesktop.GeoClue2"]), .owner(.geoClue, nil), .owner(.modemManager, ":1.7"),
            .modems(number: 1, .success(["/m": reading])),
        ]
        for event in said { _ = bus.said(event, now: 0) }
        let requests = bus.want(fix: nil, watchesChanges: true, now: 0)
        return (bus, requests)
    }

    private static func changed(_ reading: ModemReading) -> LocationBusEvent {
        .modemChanged(path: "/m", sender: ":1.7", reading)
    }

    private static let tooEarly = BusFailure(
        "the answer was the error org.freedesktop.ModemManager1.Error.Core.WrongState: "
            + "Cannot setup location: device not yet enabled"
    )

    @Test func `R7: The machine sets up a modem as soon as it is switched on`() {
        var (bus, requests) = Self.watching(ModemReading(capabilities: 1, enabled: 0, signals: false))
        #expect(requests == [.setUp(path: "/m", sources: 1, signals: true, number: 2)])
        _ = bus.said(.setUp(path: "/m", number: 2, Self.tooEarly), now: 1)
        #expect(!bus.modemStatus.isAvailable && bus.modems.refusal == nil)
        requests = bus.want(fix: nil, watchesChanges: true, now: 1)
        #expect(requests == [.createClient(.changes, number: 1)], "GeoClue tells meanwhile")
        _ = bus.said(Self.changed(ModemReading(state: 5)), now: 2)
        _ = bus.said(Self.changed(ModemReading(enabled: 1)), now: 2)
        #expect(bus.want(fix: nil, watchesChanges: true, now: 2).isEmpty, "it is being switched on")
        _ = bus.said(Self.changed(ModemReading(state: 6)), now: 3)
        #expect(bus.modemStatus.isAvailable)
        requests = bus.want(fix: nil, watchesChanges: true, now: 3)
        #expect(requests == [.setUp(path: "/m", sources: 1, signals: true, number: 3)])
        _ = bus.said(.setUp(path: "/m", number: 3, nil), now: 4)
        _ = bus.said(Self.changed(ModemReading(cell: "262,02,1F,A1B2C3,4E")), now: 4)
        #expect(bus.modems.cell == "262,02,1F,A1B2C3,4E")
        requests = bus.want(fix: nil, watchesChanges: false, now: 5)
        #expect(requests == [.setUp(path: "/m", sources: 1, signals: false, number: 4)], "what it did before")
    }

    @Test func `R7: The machine asks a modem again an hour after its refusal`() {
        var (bus, _) = Self.watching(ModemReading(state: 8, capabilities: 1, enabled: 0, signals: false))
        _ = bus.said(.setUp(path: "/m", number: 2, BusFailure("the answer was the error Unauthorized")), now: 10)
        #expect(
            bus.modems.refusal == BusFailure("the answer was the error Unauthorized") && !bus.modemStatus.isAvailable)
        var requests = bus.want(fix: nil, watchesChanges: true, now: 10)
        #expect(requests == [.createClient(.changes, number: 1)])
        #expect(bus.modems.deadline == 3_610)
        #expect(bus.want(fix: nil, watchesChanges: true, now: 3_609).isEmpty)
        requests = bus.want(fix: nil, watchesChanges: true, now: 3_610)
        #expect(requests == [.setUp(path: "/m", sources: 1, signals: true, number: 3)])
        #expect(bus.modems.deadline == nil)
    }

    @Test func `R7: GeoClue reports location changes while a modem is switched off`() {
        var (bus, _) = Self.watching(ModemReading(state: 8, capabilities: 1, enabled: 0, signals: false))
        _ = bus.said(.setUp(path: "/m", number: 2, nil), now: 1)
        #expect(bus.modemStatus.isAvailable)
        #expect(bus.want(fix: nil, watchesChanges: true, now: 1).isEmpty)
        _ = bus.said(Self.changed(ModemReading(state: 3)), now: 2)
        _ = bus.said(Self.changed(ModemReading(enabled: 0)), now: 2)
        #expect(!bus.modemStatus.isAvailable)
        var requests = bus.want(fix: nil, watchesChanges: true, now: 2)
        #expect(requests == [.createClient(.changes, number: 1)])
        _ = bus.said(Self.changed(ModemReading(state: 6)), now: 3)
        requests = bus.want(fix: nil, watchesChanges: true, now: 3)
        #expect(requests == [.setUp(path: "/m", sources: 1, signals: true, number: 3)])
    }

    @Test func `R7: The machine uses GeoClue instead of a modem that another program has reconfigured`() {
        var (bus, _) = Self.watching(ModemReading(state: 8, capabilities: 1, enabled: 0, signals: false))
        _ = bus.said(.setUp(path: "/m", number: 2, nil), now: 1)
        _ = bus.said(Self.changed(ModemReading(enabled: 0)), now: 2)
        #expect(!bus.modemStatus.isAvailable)
        let requests = bus.want(fix: nil, watchesChanges: true, now: 2)
        #expect(requests == [.createClient(.changes, number: 1)])
        _ = bus.said(Self.changed(ModemReading(state: 9)), now: 3)
        #expect(bus.want(fix: nil, watchesChanges: true, now: 3).isEmpty)
    }
}
