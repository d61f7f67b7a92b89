import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Device

/// Tests of readings: properties are the inputs, and values are the outputs.
@Suite struct ReadingTests {
    /// UpDeviceKind 2 is a battery, 3 an uninterruptible power supply, and 5 a mouse, which does not power the machine.
    @Test(
        arguments: [
            (2, true, .number(12.5), 4, [.battery: "12.5", .warning: "critical"], []),
            (3, true, .integer(80), 2, [.battery: "80.0", .warning: "discharging"], []),
            (5, true, .number(5), 5, [.battery: "none", .warning: "none"], []),
            (2, false, .number(5), 5, [.battery: "none", .warning: "none"], []),
            // A level of 0 means unknown and is therefore not an error.
            (2, true, .number(0), 0, [.battery: "0.0"], []),
            (2, true, nil, 1, [.warning: "none"], ["Percentage is missing"]),
            (2, true, .text("full"), 1, [.warning: "none"], ["Percentage is 'full', not 0.0 to 100.0"]),
            (nil, nil, nil, nil, [:], ["IsPresent is missing"]),
        ] as [(Int64?, Bool?, BusValue?, Int64?, [DeviceKey: String], [String])])
    func batteries(
        _ kind: Int64?, _ isPresent: Bool?, _ percentage: BusValue?, _ level: Int64?,
        _ values: [DeviceKey: String], _ oddities: [String]
    ) {
        var properties: [String: BusValue] = [:]
        properties["Type"] = kind.map(BusValue.integer)
        properties["IsPresent"] = isPresent.map(BusValue.truth)
        properties["Percentage"] = percentage
        properties["WarningLevel"] = level.map(BusValue.integer)
        let reading = UPowerReading.battery(properties)
        #expect(reading.values == values)
        #expect(reading.oddities == oddities)
    }

    @Test(
        arguments: [
            (0, nil), (10, "no"), (20, "no"), (30, "no"), (40, "no"), (50, "yes"), (60, "yes"), (70, "yes"), (71, nil),
            (-1, nil),
        ] as [(Int64, String?)])
    func `NetworkManager's state says whether a network is available`(_ state: Int64, _ isAvailable: String?) {
        #expect(NetworkManagerReading.values(["State": .integer(state)]).values[.network] == isAvailable)
    }

    @Test(
        arguments: [
            ("802-3-ethernet", 0, "wired", nil), ("802-3-ethernet", 1, "wired", "yes"),
            ("802-11-wireless", 2, "wifi", "no"),
            ("802-11-wireless", 3, "wifi", "yes"), ("802-11-wireless", 4, "wifi", "no"), ("gsm", 0, "cellular", "yes"),
            ("gsm", 1, "cellular", "yes"), ("gsm", 2, "cellular", "no"), ("cdma", 4, "cellular", "yes"),
            ("gsm", 99, "cellular", "yes"), ("bluetooth", 4, "bluetooth", "no"), ("vpn", 0, "vpn", nil),
            ("wireguard", 1, "vpn", "yes"), ("dummy", 0, "other", nil), ("", 0, "other", nil),
        ] as [(String, Int64, String, String?)])
    func `NetworkManager's connection type and metering give the network's kind and cost`(
        _ type: String, _ metered: Int64, _ kind: String, _ isExpensive: String?
    ) {
        let values = NetworkManagerReading.values(
            ["PrimaryConnectionType": .text(type), "Metered": .integer(metered)]
        ).values
        #expect(values[.interface] == kind)
        #expect(values[.expensive] == isExpensive)
    }

    @Test func `A network is named after its NetworkManager connection`() {
        func name(_ path: String) -> String? {
            NetworkManagerReading.values(["PrimaryConnection": .text(path)]).values[.networkName]
        }
        #expect(name("/org/freedesktop/NetworkManager/ActiveConnection/17") == "connection 17")
        #expect(name("/elsewhere/3") == "/elsewhere/3")
        #expect(name("/") == "none")
        #expect(name(String(repeating: "x", count: 257)) == nil)
    }

    @Test func `The kernel's network name lists the addresses of the default route's interface`() {
        let addresses = [
            InterfaceAddress(interface: "wlan0", network: "192.0.2.7"),
            InterfaceAddress(interface: "wlan0", network: "2001:db8:0:0::/64"),
            InterfaceAddress(interface: "virbr0", network: "198.51.100.1"),
        ]
        let wifi = NetworkInterface(name: "wlan0", kind: .wifi)
        #expect(
            KernelReading.network(addresses, interface: wifi) == [
                .network: "yes", .interface: "wifi", .networkName: "wlan0 192.0.2.7, wlan0 2001:db8:0:0::/64",
            ])
        #expect(
            KernelReading.network([addresses[2]], interface: nil) == [
                .network: "yes", .networkName: "virbr0 198.51.100.1",
            ])
        #expect(
            KernelReading.network(
                [InterfaceAddress(interface: "wwan0", network: "192.0.2.9")],
                interface: NetworkInterface(name: "wwan0", kind: .cellular)) == [
                    .network: "yes", .interface: "cellular", .expensive: "yes", .networkName: "wwan0 192.0.2.9",
                ])
        #expect(KernelReading.network([], interface: nil) == [.network: "no", .networkName: "none"])
        #expect(KernelReading.network(nil, interface: wifi).isEmpty)
    }

    static let routes = """
        Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
        docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
        eth0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
        wlan0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
        old0\t00000000\t0100A8C0\t0200\t0\t0\t1\t00000000\t0\t0\t0

        """
    static let none = String(repeating: "0", count: 32)
    static let routes6 = """
        20010db8000000000000000000000000 40 \(none) 00 \(none) 00000100 00000001 00000000 00000001     eth0
        \(none) 00 \(none) 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth1
        \(none) 00 \(none) 00 \(none) ffffffff 00000001 00000000 00200200       lo

        """

    @Test(
        arguments: [
            (routes, routes6, "wlan0"), ("", routes6, "eth1"), ("", "", nil), ("nonsense\n\n1 2", "more nonsense", nil),
        ] as [(String, String, String?)])
    func `The routing tables name the interface of the default route`(
        _ ipv4: String, _ ipv6: String, _ interface: String?
    ) {
        #expect(DefaultRoute.interface(ipv4: ipv4, ipv6: ipv6) == interface)
    }

    @Test(
        arguments: [
            ("eth0", "INTERFACE=eth0\n", 1, false, false, .wired), ("wlp3s0", "DEVTYPE=wlan\n", 1, false, false, .wifi),
            ("wlan0", "", 1, true, false, .wifi), ("wwp0s20", "", 1, false, false, .cellular),
            ("mhi0", "DEVTYPE=wwan\n", 65534, false, false, .cellular),
            ("bnep0", "DEVTYPE=bluetooth\n", 1, false, false, .bluetooth),
            ("wg0", "DEVTYPE=wireguard\n", 65534, false, false, .vpn), ("tun0", "", 65534, false, true, .vpn),
            ("ppp0", "", 512, false, false, .other), ("x", "", nil, false, false, .other),
        ] as [(String, String, Int?, Bool, Bool, NetworkKind)])
    func `An interface's name and attributes determine its kind`(
        _ name: String, _ uevent: String, _ type: Int?, _ isWireless: Bool, _ isTunnel: Bool, _ kind: NetworkKind
    ) {
        #expect(
            NetworkInterface.kind(name: name, uevent: uevent, type: type, isWireless: isWireless, isTunnel: isTunnel)
                == kind)
    }

    @Test func `The monitor reads the kind of an interface from sysfs`() throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path("wlan0/wireless"), withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: directory.path("eth0"), withIntermediateDirectories: true)
        try directory.write("1\n", to: "eth0/type")
        #expect(NetworkInterface(named: "wlan0", below: directory.path).kind == .wifi)
        #expect(NetworkInterface(named: "eth0", below: directory.path).kind == .wired)
        #expect(NetworkInterface(named: "gone0", below: directory.path).kind == .other)
    }

    @Test(arguments: [
        ("unix:path=/run/dbus/system_bus_socket", ["/run/dbus/system_bus_socket"]),
        ("unix:guid=1,path=/a%20b%2fc;tcp:host=localhost,port=1;unix:path=/d", ["/a b/c", "/d"]),
        ("unix:abstract=/tmp/x", []), ("unix:path=/broken%", ["/broken%"]), ("", []),
    ])
    func `A bus address yields the paths of its sockets`(_ address: String, _ paths: [String]) {
        #expect(BusAddress.socketPaths(address) == paths)
    }
}

/// Tests of the report: readings and overrides are the inputs, and a report is the output.
@Suite struct DeviceReportTests {
    private static let upower = ProviderReading(source: .upower, isPresent: true, values: [.power: "battery"])
    private static let logind = ProviderReading(
        source: .logind, isPresent: true, values: [.power: "external", .idle: "yes"], oddities: ["odd", "odd", "even"])

    private static func kernel(_ bytes: Int) -> ProviderReading {
        ProviderReading(source: .kernel, isPresent: true, values: [.freeBytes: String(bytes)])
    }

    private static func report(
        _ readings: [ProviderReading], _ overrides: [DeviceKey: String] = [:], isSettled: Bool = true
    ) -> DeviceReport {
        DeviceReport(readings: readings, overrides: overrides, isSettled: isSettled)
    }

    @Test func `The first source with a value is used, and overrides take precedence`() {
        let report = Self.report([Self.upower, Self.logind], [.idle: "no", .battery: "101", .freeBytes: "5"])
        #expect(report.conditions.power == .battery)
        #expect(!report.conditions.isIdle)
        #expect(report.conditions.freeBytes == 5)
        let sources = Dictionary(uniqueKeysWithValues: report.values.map { ($0.key, $0.source) })
        #expect(sources[.power] == .upower && sources[.idle] == .override)
        #expect(sources[.battery] == .assumed, "101 is no percentage.")
        #expect(sources[.freeBytes] == .override && sources[.network] == .assumed)
        #expect(report.providers.last?.detail == "odd; even")
        #expect(Self.report([Self.logind]).conditions.power == .external)
    }

    @Test func `The assumed value replaces a value that is invalid for its key`() {
        let nonsense = ProviderReading(source: .upower, isPresent: true, values: [.power: "steam"])
        #expect(Self.report([nonsense]).values.first == DeviceValue(key: .power, value: "external", source: .assumed))
    }

    @Test func `The monitor counts a sleep and its end even if no report was read between them`() {
        let current = CurrentReport(readings: [], overrides: [:])
        func publish(_ sleeping: String, slept: Bool = false) -> Bool {
            let logind = ProviderReading(source: .logind, isPresent: true, values: [.sleeping: sleeping])
            return current.setReadings([logind], isSettled: true, slept: slept)
        }
        #expect(publish("no"))
        let before = current.report.conditions
        #expect(publish("yes"))
        #expect(publish("no"))
        let after = current.report.conditions
        #expect(after.sleeps == before.sleeps + 1 && after.woke(since: before) && !after.isSleeping)
        // The clocks show the same sleep that logind announces.
        #expect(publish("yes"))
        #expect(!publish("yes", slept: true))
        #expect(publish("no"))
        #expect(current.report.conditions.sleeps == before.sleeps + 2)
        #expect(publish("no", slept: true))
        #expect(current.report.conditions.sleeps == before.sleeps + 3, "unannounced")
        #expect(!publish("no"))
        #expect(current.report.conditions.sleeps == before.sleeps + 3)
    }

    @Test func `The clocks detect sleep, but not a delayed thread`() {
        var gauge = SleepGauge()
        // The fifth reading is delayed by five seconds between the two clocks.
        let readings: [(Double, Double)] = [
            (150, 100), (250, 200), (350, 290), (360, 300), (370, 315), (380, 320), (390, 328),
        ]
        let slept = readings.map { gauge.hasSlept(boot: $0.0, awake: $0.1) }
        #expect(slept == [false, false, true, false, false, false, true])
    }

    @Test func `The monitor does not announce a change of free space alone`() {
        let former = Self.report([Self.upower, Self.kernel(1)])
        #expect(!Self.report([Self.upower, Self.kernel(2)]).isNews(after: former))
        #expect(Self.report([Self.upower, Self.kernel(1)], [.freeBytes: "2"]).isNews(after: former))
        #expect(Self.report([Self.upower, Self.kernel(1)], isSettled: false).isNews(after: former))
        #expect(Self.report([.absent(.upower, "gone"), Self.kernel(1)]).isNews(after: former))
        #expect(Self.report([Self.upower, Self.kernel(1)], [.power: "battery"]).isNews(after: former))
    }
}
