import NightshiftAPI
import TestSupport
import Testing

@testable import Device

/// Tests of the choice of location sources and their requests, without real sources.
@Suite struct LocationMachineTests {
    private static func machine(gpsd: String? = nil) -> LocationMachine {
        let environment = gpsd.map { ["NIGHTSHIFT_GPSD": $0] } ?? [:]
        return LocationMachine(LocationConfiguration(environment: environment, isTraced: false), word: nil)
    }

    /// Connects to a bus that can start GeoClue and has no ModemManager.
    private static func connected(_ machine: inout LocationMachine, now: Double) -> [LocationMachine.Action] {
        let actions =
            machine.busConnected(now: now)
            + machine.busSaid(.activatable(["org.freedesktop.GeoClue2"]), now: now)
            + machine.busSaid(.owner(.geoClue, nil), now: now) + machine.busSaid(.owner(.modemManager, nil), now: now)
        return actions.reduce(into: actions) { all, action in
            guard case .send(.createClient(.probe, let number)) = action else { return }
            all += machine.busSaid(.clientCreated(.probe, number: number, .success("/client/1")), now: now)
        }
    }

    private static func looked(_ machine: inout LocationMachine, devices: Int = 1) -> [LocationMachine.Action] {
        machine.begin(now: 0) + machine.gpsdReported(.version("3.22"), now: 0)
            + machine.gpsdReported(.devices(devices), now: 0) + connected(&machine, now: 0)
    }

    private static func place(_ accuracy: Double, isAssumed: Bool = false) throws -> GpsdReport {
        .place(try #require(Coordinate(latitude: 1, longitude: 2)), accuracy: accuracy, isAssumed: isAssumed)
    }

    private static func told(_ actions: [LocationMachine.Action]) -> [FixUpdate] {
        actions.compactMap { if case .tell(let update) = $0 { update } else { nil } }
    }

    private static func created(_ actions: [LocationMachine.Action]) -> [GeoClueUse] {
        actions.compactMap { if case .send(.createClient(let use, _)) = $0 { use } else { nil } }
    }

    @Test func `R6: A check opens and closes both connections and reports the sources once`() throws {
        var machine = Self.machine()
        let actions = Self.looked(&machine)
        #expect(actions.first == .openGpsd(.look) && actions.contains(.openBus))
        #expect(actions.contains(.closeGpsd) && actions.contains(.closeBus))
        let sources = Self.told(actions).compactMap(\.sources)
        #expect(sources.count == 1 && sources.first?.regions == true && sources.first?.changes == true)
        #expect(machine.deadline == nil, "nothing is to be done, ever")
        #expect(Self.told(machine.tick(now: 1_000)).isEmpty)
    }

    @Test func `R6: A check reports a source that does not answer in time as missing`() {
        var machine = Self.machine()
        #expect(Self.told(machine.begin(now: 0)).isEmpty)
        #expect(machine.deadline == 5)
        let actions = machine.tick(now: 5)
        #expect(actions.contains(.closeGpsd) && actions.contains(.closeBus))
        let sources = Self.told(actions).compactMap(\.sources).first
        #expect(sources?.regions == false && sources?.statuses.first?.isSilent == true)
    }

    private static func answers(_ actions: [LocationMachine.Action]) -> [FixUpdate] {
        actions.compactMap { if case .looked(let update) = $0 { update } else { nil } }
    }

    @Test func `R6: A caller that asks for the sources starts a check of both and gets one answer`() {
        var machine = Self.machine()
        _ = Self.looked(&machine, devices: 0)
        var actions = machine.lookAgain(now: 100)
        #expect(actions.contains(.openGpsd(.look)) && actions.contains(.openBus))
        actions = machine.gpsdReported(.version("3.22"), now: 101) + machine.gpsdReported(.devices(1), now: 101)
        // A second caller does not postpone the end of the check.
        actions += machine.lookAgain(now: 104)
        #expect(Self.answers(actions).isEmpty && machine.deadline == 105)
        actions = machine.tick(now: 105)
        let (told, answers) = (Self.told(actions), Self.answers(actions))
        #expect(told == answers && told.compactMap(\.sources).map(\.regions) == [true])
        #expect(actions.contains(.closeBus) && machine.deadline == nil)
        for now in [200.0, 300] {
            actions = machine.lookAgain(now: now) + machine.gpsdReported(.version("3.22"), now: now)
            actions += machine.gpsdReported(.devices(1), now: now) + Self.connected(&machine, now: now)
            #expect(Self.answers(actions).count == 1)
        }
        #expect(Self.told(actions).isEmpty, "nothing is new, and yet he is answered")
    }

    @Test func `R6: A check creates a GeoClue client, waits for the answer and deletes the client`() {
        var machine = Self.machine(gpsd: "none")
        _ = machine.begin(now: 0) + Self.connected(&machine, now: 0)
        var actions = machine.lookAgain(now: 100) + machine.busConnected(now: 100)
        actions += machine.busSaid(.activatable(["org.freedesktop.GeoClue2"]), now: 100)
        actions += machine.busSaid(.owner(.modemManager, nil), now: 100)
        #expect(Self.created(actions) == [])
        actions = machine.busSaid(.owner(.geoClue, ":1.1"), now: 103)
        #expect(Self.created(actions) == [.probe] && Self.answers(actions).isEmpty)
        #expect(machine.tick(now: 105).isEmpty && machine.deadline == 108, "GeoClue may have to be started")
        actions = machine.busSaid(.clientCreated(.probe, number: 1, .success("/client")), now: 107)
        #expect(actions.contains(.send(.deleteClient(path: "/client"))) && actions.contains(.closeBus))
        #expect(Self.answers(actions).compactMap(\.sources).first?.changes == true)
    }

    @Test(arguments: [false, true])
    func `R6: A GeoClue that answers a check with an error, or not at all, is not a source`(isSilent: Bool) {
        var machine = Self.machine(gpsd: "none")
        _ = machine.begin(now: 0) + Self.connected(&machine, now: 0) + machine.lookAgain(now: 100)
        _ = machine.busConnected(now: 100) + machine.busSaid(.activatable(["org.freedesktop.GeoClue2"]), now: 100)
        _ = machine.busSaid(.owner(.geoClue, nil), now: 100) + machine.busSaid(.owner(.modemManager, nil), now: 100)
        let failure = BusFailure("the answer was the error org.freedesktop.DBus.Error.AccessDenied")
        let actions =
            isSilent
            ? machine.tick(now: 105) : machine.busSaid(.clientCreated(.probe, number: 1, .failure(failure)), now: 101)
        let geoClue = Self.answers(actions).compactMap(\.sources).first?.statuses.first { $0.name == "geoclue" }
        #expect(geoClue?.isAvailable == false && geoClue?.isSilent == (isSilent ? true : nil))
        #expect(geoClue?.sentence.contains(isSilent ? "does not answer" : "AccessDenied") == true)
        #expect(actions.contains(.closeBus) && machine.deadline == nil)
        // The result does not change until GeoClue answers.
        _ = machine.want(FixDemand(fix: 500), now: 200)
        _ = machine.busConnected(now: 200) + machine.busSaid(.activatable(["org.freedesktop.GeoClue2"]), now: 200)
        _ = machine.busSaid(.owner(.geoClue, nil), now: 200) + machine.busSaid(.owner(.modemManager, nil), now: 200)
        let created = machine.busSaid(.clientCreated(.fix, number: 1, .success("/fix")), now: 201)
        let later = Self.told(created).compactMap(\.sources).last?.statuses.first { $0.name == "geoclue" }
        #expect(later?.isAvailable == true)
    }

    @Test func `R6: A ModemManager that does not answer is not mistaken for a missing bus`() {
        var machine = Self.machine(gpsd: "none")
        _ = machine.begin(now: 0) + machine.busConnected(now: 0) + machine.busSaid(.activatable([]), now: 0)
        _ = machine.busSaid(.owner(.geoClue, nil), now: 0) + machine.busSaid(.owner(.modemManager, ":1.1"), now: 0)
        let statuses = Self.told(machine.tick(now: 5)).compactMap(\.sources).last?.statuses ?? []
        let sentences = Dictionary(statuses.map { ($0.name, $0.sentence) }) { first, _ in first }
        #expect(sentences["geoclue"]?.contains("not installed") == true)
        #expect(sentences["modem"]?.hasPrefix("ModemManager does not answer.") == true)
        #expect(statuses.filter { $0.isSilent == true }.map(\.name) == ["modem"])
    }

    @Test func `R6: A check does not ask a receiver that the machine already follows`() {
        var machine = Self.machine()
        _ = Self.looked(&machine)
        _ = machine.want(FixDemand(fix: 50), now: 100)
        _ = machine.gpsdReported(.version("3.22"), now: 100) + machine.gpsdReported(.devices(1), now: 100)
        _ = Self.connected(&machine, now: 100)
        var actions = machine.lookAgain(now: 110)
        actions += Self.connected(&machine, now: 110) + machine.tick(now: 116)
        #expect(Self.answers(actions).count == 1 && machine.gpsd.isAvailable)
    }

    @Test func `R7: The next check finds a GeoClue installed while changes are watched`() {
        var machine = Self.machine(gpsd: "none")
        _ = machine.want(FixDemand(watchesChanges: true), now: 0)
        _ = machine.busConnected(now: 0) + machine.busSaid(.activatable([]), now: 0)
        _ = machine.busSaid(.owner(.geoClue, nil), now: 0) + machine.busSaid(.owner(.modemManager, nil), now: 0)
        #expect(machine.bus.hadGeoClue == false)
        var actions = machine.want(FixDemand(fix: 500, watchesChanges: true), now: 100)
        #expect(actions.contains(.send(.activatable)))
        actions = machine.busSaid(.activatable(["org.freedesktop.GeoClue2"]), now: 101)
        #expect(Self.created(actions).contains(.changes) && machine.bus.hadGeoClue == true)
        // A bus that cannot answer now still has GeoClue.
        actions = machine.lookAgain(now: 200)
        #expect(actions.contains(.send(.activatable)) && Self.answers(actions).isEmpty)
        actions = machine.busSaid(.activatable(nil), now: 201)
        #expect(Self.answers(actions).count == 1 && machine.bus.hadGeoClue == true)
    }

    @Test func `R7: The machine asks the bus for its startable services when they have changed`() {
        var machine = Self.machine(gpsd: "none")
        _ = machine.want(FixDemand(watchesChanges: true), now: 0)
        _ = machine.busConnected(now: 0)
        // The answer in progress already contains the change.
        #expect(!machine.busSaid(.activatableChanged, now: 0).contains(.send(.activatable)))
        _ = machine.busSaid(.activatable([]), now: 0) + machine.busSaid(.owner(.geoClue, nil), now: 0)
        _ = machine.busSaid(.owner(.modemManager, nil), now: 0)
        #expect(machine.busSaid(.activatableChanged, now: 9).contains(.send(.activatable)))
        let actions = machine.busSaid(.activatable(["org.freedesktop.GeoClue2"]), now: 10)
        #expect(Self.created(actions) == [.changes])
    }

    @Test func `R7: The machine connects to a bus that it never reached when the bus's socket appears`() {
        var machine = Self.machine(gpsd: "none")
        #expect(machine.want(FixDemand(watchesChanges: true), now: 0).contains(.openBus))
        _ = machine.busEnded(BusFailure("Connection refused"), now: 0)
        #expect(machine.awaitsBus && machine.deadline == nil)
        #expect(!machine.tick(now: 10_000).contains(.openBus))
        #expect(machine.busAppeared(now: 20_000).contains(.openBus))
        // No process listens at the socket yet.
        _ = machine.busEnded(BusFailure("Permission denied"), now: 20_000)
        #expect(machine.deadline == 20_001)
        #expect(machine.tick(now: 20_001).contains(.openBus))
    }

    @Test func `R7: The machine retries a lost bus for a while, then only when its socket appears`() {
        var machine = Self.machine(gpsd: "none")
        _ = machine.want(FixDemand(watchesChanges: true), now: 0)
        _ = Self.connected(&machine, now: 0)
        _ = machine.busEnded(BusFailure("Connection reset by peer"), now: 100)
        var tries = 0
        while tries < 50, let due = machine.deadline {
            tries += 1
            #expect(machine.tick(now: due).contains(.openBus))
            _ = machine.busEnded(BusFailure("Connection refused"), now: due)
        }
        #expect((5...20).contains(tries) && machine.awaitsBus)
        #expect(machine.busAppeared(now: 50_000).contains(.openBus))
    }

    @Test func `R6: Near a boundary the machine asks the receiver first, and GeoClue after a while`() throws {
        var machine = Self.machine()
        _ = Self.looked(&machine)
        var actions = machine.want(FixDemand(fix: 50), now: 100)
        #expect(actions.contains(.openGpsd(.watch)) && Self.created(actions).isEmpty)
        _ = machine.gpsdReported(.version("3.22"), now: 100) + machine.gpsdReported(.devices(1), now: 100)
        _ = Self.connected(&machine, now: 100)
        actions = try machine.gpsdReported(Self.place(80), now: 110)
        #expect(Self.told(actions).isEmpty)
        #expect(machine.deadline == 120)
        #expect(machine.tick(now: 120).contains(.openBus))
        actions = Self.connected(&machine, now: 120)
        #expect(Self.created(actions) == [.fix])
        #expect(machine.deadline == 125, "GeoClue's answer is overdue then")
        _ = machine.tick(now: 125)
        #expect(machine.deadline == 160)
        actions = try machine.gpsdReported(Self.place(60), now: 130)
        #expect(Self.told(actions).isEmpty)
        // This fix is the best one within a minute.
        actions = machine.tick(now: 160)
        #expect(Self.told(actions).compactMap(\.fix).map(\.fix.accuracy) == [60])
        #expect(Self.told(actions).compactMap(\.receiver) == [120], "gpsd keeps it on for another minute")
        #expect(actions.contains(.closeGpsd) && actions.contains(.closeBus))
    }

    @Test func `R6: Work that becomes due after the clock was read stays due`() {
        var machine = Self.machine()
        _ = Self.looked(&machine)
        _ = machine.want(FixDemand(fix: 50), now: 100)
        _ = machine.gpsdReported(.version("3.22"), now: 100) + machine.gpsdReported(.devices(1), now: 100)
        #expect(Self.told(machine.tick(now: 159.9999)).compactMap(\.receiver).isEmpty)
        // The deadline stays the same, however late it is read.
        #expect(machine.deadline == 160)
        #expect(Self.told(machine.tick(now: 160.0001)).compactMap(\.receiver).count == 1)
        #expect(machine.deadline == nil)
    }

    @Test func `R6: A location that is good enough ends the request at once`() throws {
        var machine = Self.machine()
        _ = Self.looked(&machine)
        _ = machine.want(FixDemand(fix: 50), now: 100)
        _ = machine.gpsdReported(.version("3.22"), now: 103)
        let actions = try machine.gpsdReported(Self.place(50), now: 110)
        #expect(Self.told(actions).compactMap(\.fix).map(\.source) == ["gpsd"])
        #expect(Self.told(actions).compactMap(\.receiver) == [67], "from when gpsd was there to when it is off")
        #expect(actions.contains(.closeGpsd))
        #expect(try Self.told(machine.gpsdReported(Self.place(5), now: 111)).isEmpty)
    }

    @Test func `R6: The machine stops waiting for a receiver that does not improve for some seconds`() throws {
        var machine = Self.machine()
        _ = Self.looked(&machine)
        _ = machine.want(FixDemand(fix: 15), now: 100)
        _ = machine.gpsdReported(.version("3.22"), now: 100)
        var actions: [LocationMachine.Action] = []
        // The receiver was just switched on and improves at first. Then it stays at 17 m.
        for (time, accuracy) in [(101.0, 80.0), (105, 40), (109, 25), (110, 17), (111, 17), (114.9, 16)] {
            actions += try machine.gpsdReported(Self.place(accuracy), now: time)
        }
        #expect(Self.told(actions).compactMap(\.fix).isEmpty)
        actions = try machine.gpsdReported(Self.place(17), now: 115)
        #expect(Self.told(actions).compactMap(\.fix).map(\.fix.accuracy) == [16] && actions.contains(.closeGpsd))
    }

    @Test func `R6: A request with little time also asks the other source early and takes the best result`() throws {
        var machine = Self.machine()
        _ = Self.looked(&machine)
        _ = machine.want(FixDemand(fix: 5, timeout: 15), now: 100)
        _ = machine.gpsdReported(.version("3.22"), now: 100) + machine.gpsdReported(.devices(1), now: 100)
        _ = Self.connected(&machine, now: 100)
        #expect(machine.deadline == 105)
        #expect(machine.tick(now: 105).contains(.openBus))
        #expect(Self.created(Self.connected(&machine, now: 105)) == [.fix])
        var told = try Self.told(machine.gpsdReported(Self.place(60), now: 108))
        told += try Self.told(machine.gpsdReported(Self.place(40), now: 110)) + Self.told(machine.tick(now: 112.9))
        #expect(told.compactMap(\.fix).isEmpty && told.compactMap(\.receiver).isEmpty)
        // A few seconds after the first fix, the machine no longer waits for better ones.
        let actions = machine.tick(now: 113)
        #expect(Self.told(actions).compactMap(\.fix).map(\.fix.accuracy) == [40])
        #expect(Self.told(actions).compactMap(\.receiver).count == 1 && actions.contains(.closeGpsd))
    }

    @Test func `R6: A request with little time ends without a location if none arrived in time`() {
        var machine = Self.machine()
        _ = Self.looked(&machine)
        _ = machine.want(FixDemand(fix: 5, timeout: 15), now: 100)
        _ = machine.gpsdReported(.version("3.22"), now: 100) + machine.gpsdReported(.devices(1), now: 100)
        #expect(Self.told(machine.tick(now: 114.9)).compactMap(\.receiver).isEmpty)
        let actions = machine.tick(now: 115)
        #expect(Self.told(actions).compactMap(\.fix).isEmpty && Self.told(actions).compactMap(\.receiver).count == 1)
    }

    @Test func `R6: Overlapping minutes for which gpsd keeps a receiver on count only once`() {
        var hold = ReceiverHold()
        var counted = 0.0
        // The receiver is on from 100 to 165, from 200 to 262, and from 262 without a pause to 330.
        for (start, end) in [(100.0, 105.0), (200, 202), (230, 270)] {
            counted += end - start + hold.used(from: start, to: end)
        }
        #expect(counted == 65 + (330 - 200))
        #expect(hold.used(from: 300, to: 301) == 31 - 1)
    }

    @Test func `R6: A location with an assumed accuracy is accepted when it stays the same`() throws {
        var machine = Self.machine()
        _ = Self.looked(&machine)
        _ = machine.want(FixDemand(fix: 20), now: 100)
        _ = machine.gpsdReported(.version("3.22"), now: 100)
        var actions = try machine.gpsdReported(Self.place(100, isAssumed: true), now: 101)
        actions += try machine.gpsdReported(Self.place(50, isAssumed: true), now: 105.9)
        #expect(Self.told(actions).compactMap(\.fix).isEmpty)
        actions = try machine.gpsdReported(Self.place(50, isAssumed: true), now: 106)
        #expect(Self.told(actions).compactMap(\.fix).map(\.fix.accuracy) == [50])
    }

    @Test func `R6: Far from every boundary the machine asks GeoClue first, then the receiver`() {
        var machine = Self.machine()
        _ = Self.looked(&machine)
        var actions = machine.want(FixDemand(fix: 500), now: 100)
        #expect(!actions.contains(.openGpsd(.watch)) && actions.contains(.openBus))
        actions = Self.connected(&machine, now: 100)
        #expect(Self.created(actions) == [.fix])
        actions = machine.busSaid(
            .clientCreated(.fix, number: 1, .failure(BusFailure("the answer was the error ServiceUnknown"))), now: 101)
        #expect(actions.contains(.openGpsd(.watch)))
    }

    @Test func `R6: A gpsd without a receiver is not a source`() {
        var machine = Self.machine()
        let sources = Self.told(Self.looked(&machine, devices: 0)).compactMap(\.sources).last
        #expect(sources?.statuses.first { $0.name == "gpsd" }?.isAvailable == false)
        _ = machine.want(FixDemand(fix: 50), now: 100)
        _ = machine.gpsdReported(.version("3.22"), now: 100)
        _ = machine.gpsdReported(.devices(0), now: 100)
        #expect(Self.created(Self.connected(&machine, now: 100)) == [.fix])
    }

    @Test func `R6: A gpsd that returns late in a request has the same time to report its receiver`() throws {
        var machine = Self.machine()
        _ = Self.looked(&machine)
        _ = machine.want(FixDemand(fix: 1), now: 100)
        _ = machine.busEnded(BusFailure("Connection refused"), now: 100)
        _ = machine.gpsdReported(.version("3.22"), now: 100) + machine.gpsdReported(.devices(1), now: 100)
        _ = machine.gpsdEnded(GpsdFailure("has closed the connection"), now: 101)
        #expect(machine.tick(now: 108).contains(.openGpsd(.watch)))
        let actions = machine.gpsdReported(.version("3.22"), now: 108) + machine.gpsdReported(.devices(0), now: 108)
        #expect(Self.told(actions + machine.tick(now: 112.9)).compactMap(\.receiver).isEmpty)
        var late = machine
        #expect(Self.told(late.tick(now: 113)).compactMap(\.receiver).count == 1)
        _ = machine.gpsdReported(.deviceActivated, now: 112.9)
        #expect(try Self.told(machine.gpsdReported(Self.place(1), now: 114)).compactMap(\.fix).count == 1)
    }

    @Test func `R6: A changed demand does not restart the request, and an empty demand ends it`() throws {
        var machine = Self.machine()
        _ = Self.looked(&machine)
        _ = machine.want(FixDemand(fix: 50), now: 100)
        _ = machine.gpsdReported(.version("3.22"), now: 100) + machine.gpsdReported(.devices(1), now: 100)
        #expect(!machine.want(FixDemand(fix: 30), now: 130).contains(.openGpsd(.watch)), "it is open")
        #expect(try Self.told(machine.gpsdReported(Self.place(40), now: 131)).isEmpty)
        #expect(Self.told(machine.tick(now: 160)).compactMap(\.receiver).isEmpty, "a minute from the last wish on")
        let actions = machine.want(FixDemand(), now: 170)
        #expect(Self.told(actions).compactMap(\.fix).isEmpty && Self.told(actions).compactMap(\.receiver) == [130])
    }

    /// For any behaviour of GeoClue, each created client is deleted, and at most one is wanted at a time.
    @Test(arguments: 1...20) func `R6: The machine deletes every GeoClue client once`(_ seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var client = GeoClueClient(use: .fix)
        var (now, made) = (0.0, 0)
        var there: Set<String> = []
        var creating: [Int] = []
        var starting: [Int] = []
        func perform(_ requests: [LocationBusRequest]) {
            for request in requests {
                switch request {
                case .createClient(_, let number): creating.append(number)
                case .startClient(let path, _, _, let number):
                    #expect(there.contains(path))
                    starting.append(number)
                case .deleteClient(let path): #expect(there.remove(path) != nil)
                default: break
                }
            }
        }
        func answer() {
            guard !creating.isEmpty else { return }
            made += 1
            there.insert("/\(made)")
            perform(client.created(number: creating.removeFirst(), .success("/\(made)"), now: now))
        }
        let demands: [GeoClueClient.Demand?] = [nil, .changes, .fix(accuracy: 10), .fix(accuracy: 2_000)]
        for _ in 1...500 {
            now += Double.random(in: 0...40, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1: perform(client.want(demands.randomElement(using: &random) ?? nil, now: now))
            case 2: answer()
            case 3:
                guard !creating.isEmpty else { continue }
                perform(
                    client.created(
                        number: creating.removeFirst(), .failure(BusFailure("the answer was the error no")), now: now))
            case 4:
                guard !starting.isEmpty else { continue }
                let failures = [
                    nil, BusFailure("the answer was the error AccessDenied: no"),
                    BusFailure("the answer was the error no"),
                ]
                perform(
                    client.started(
                        number: starting.removeFirst(), failures.randomElement(using: &random) ?? nil, now: now))
            default:
                // GeoClue ends, together with all of its clients and requests.
                creating = []
                starting = []
                there = []
                client.gone(BusFailure("GeoClue has ended"), now: now)
            }
            #expect(there.count <= 1)
        }
        perform(client.want(nil, now: now))
        while !creating.isEmpty { answer() }
        #expect(there.isEmpty)
    }
}
