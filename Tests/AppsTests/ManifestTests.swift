import Apps
import Foundation
import NightshiftAPI
import Testing

/// Parsing of desktop entries into manifests (issue 3, "Apps in the service").
@Suite struct ManifestTests {
    private static let longestReason = String(repeating: "é", count: 256)

    private func manifest(_ text: String, id: String = "org.example.App") throws(EntryError) -> AppManifest {
        try AppManifest(parsing: text, id: AppID(rawValue: id), path: "/somewhere/\(id).desktop")
    }

    private func manifest(withLine line: String) throws(EntryError) -> AppManifest {
        try manifest("[Desktop Entry]\nType=Application\nName=App\nExec=app\n\(line)\n")
    }

    @Test func `The parser reads an entry with all keys`() throws {
        let manifest = try manifest(
            """
            # A comment, and an empty line

            [Desktop Entry]
            Type = Application
            Version=1.5
            Name=Simple Transfer
            Name[de]=Einfacher Transfer
            Name[de_DE@euro]=Einfacher
            Comment=Anything \\q goes in keys that nobody reads
            Exec="/opt/My App/bin/app" --verbose %U
            Path=/opt/My\\sApp
            NoDisplay=true
            StartupWMClass=Simple\\sTransfer
            X-Nightshift-BackgroundModes=transfer;fetch;remote-notification;location;processing;
            X-Nightshift-Wake=app-wake --reason "two words"
            X-Nightshift-WakeLimit=45.5
            X-Nightshift-LogLimit=65536
            X-Nightshift-Snapshot=/tmp/app.png
            X-Nightshift-BackgroundPolicy=opportunistic:30
            X-Nightshift-FileLocks=terminate
            X-Nightshift-FetchInterval=900
            X-Nightshift-TaskIdentifiers=org.example.App.refresh;org.example.App.export.*;
            X-Nightshift-LocationReason=Reminders\\swhere you are; no more.
            X-Nightshift-LocationReason[de]=Erinnerungen dort, wo Sie sind
            X-Nightshift-LocationReason[fr]=Des rappels
            X-Other-Key=anything

            [Desktop Action new]
            Name=New
            Exec=/opt/app/bin/app --new

            """)
        #expect(manifest.id == AppID(rawValue: "org.example.App"))
        #expect(manifest.name == "Simple Transfer")
        #expect(manifest.entry == "/somewhere/org.example.App.desktop")
        #expect(manifest.command == ["/opt/My App/bin/app", "--verbose"])
        #expect(manifest.directory == "/opt/My App")
        #expect(manifest.modes == Set(BackgroundMode.allCases))
        #expect(manifest.wakeCommand == ["app-wake", "--reason", "two words"])
        #expect(manifest.wakeLimit == 45.5)
        #expect(manifest.logLimit == 65_536)
        #expect(manifest.snapshot == "/tmp/app.png")
        #expect(manifest.backgroundPolicy == .brief)
        #expect(manifest.fileLocks == .terminate)
        #expect(manifest.windowClass == "Simple Transfer")
        #expect(manifest.fetchInterval == .seconds(900))
        #expect(manifest.taskIdentifiers == ["org.example.App.refresh", "org.example.App.export.*"])
        #expect(manifest.locationReason == "Reminders where you are; no more.")
    }

    @Test(arguments: [
        ("minimum", RefreshInterval.minimum), ("never", .never), ("1800.5", .seconds(1800.5)), ("0", .minimum),
        ("", nil), ("0.0000001", .minimum),
    ])
    func `R1: The parser reads fetch intervals`(text: String, interval: RefreshInterval?) throws {
        #expect(try manifest(withLine: "X-Nightshift-FetchInterval=\(text)").fetchInterval == interval)
    }

    @Test(arguments: [
        ("", []), ("a", ["a"]), ("a;b.*;a", ["a", "b.*"]), (#"a\;b"#, ["a;b"]),
        (String(repeating: "a", count: 256), [String(repeating: "a", count: 256)]),
    ])
    func `R10: The parser reads task identifiers`(text: String, identifiers: [String]) throws {
        #expect(try manifest(withLine: "X-Nightshift-TaskIdentifiers=\(text)").taskIdentifiers == identifiers)
    }

    @Test(arguments: [("", nil), ("Why", "Why"), (Self.longestReason, Self.longestReason)])
    func `R6: The parser reads location reasons`(text: String, reason: String?) throws {
        #expect(try manifest(withLine: "X-Nightshift-LocationReason=\(text)").locationReason == reason)
    }

    @Test(arguments: [
        ("LocationReason=" + String(repeating: "a", count: 513), "the reason has 513 bytes; it may have at most 512"),
        ("FetchInterval=15min", "'15min' is not an interval; use minimum, never or seconds up to 31536000"),
        ("FetchInterval=-1", "'-1' is not an interval; use minimum, never or seconds up to 31536000"),
        ("FetchInterval=31536001", "'31536001' is not an interval; use minimum, never or seconds up to 31536000"),
        ("TaskIdentifiers=a;;b", "'' does not have 1 to 256 bytes"),
        ("TaskIdentifiers=a b", "'a b' has a space or a control character"),
        (#"TaskIdentifiers=a\nb"#, "'a\nb' has a space or a control character"),
        ("TaskIdentifiers=*", "'*' may have '*' only as the last of several parts"),
        ("TaskIdentifiers=.*", "'.*' may have '*' only as the last of several parts"),
        ("TaskIdentifiers=a.*.b", "'a.*.b' may have '*' only as the last of several parts"),
        ("TaskIdentifiers=a*", "'a*' may have '*' only as the last of several parts"),
        (
            "TaskIdentifiers=" + (0...100).map { "a\($0)" }.joined(separator: ";"),
            "there are 101 identifiers; an entry may declare at most 100"
        ),
    ])
    func `R1: The error about an interval or an identifier names the line and the key`(
        line: String, message: String
    ) {
        let error = #expect(throws: EntryError.self) { try manifest(withLine: "X-Nightshift-" + line) }
        let key = "X-Nightshift-" + (line.split(separator: "=").first ?? "")
        #expect(error?.description == "org.example.App.desktop, line 5: \(key): \(message)")
        #expect(error?.line == 5 && error?.key == key)
    }

    @Test func `An entry without Nightshift's keys is an app without background modes`() throws {
        let manifest = try manifest("[Desktop Entry]\r\nType=Application\r\nName=App\r\nExec=app\r\nPath=\r\n")
        #expect(manifest.modes == [])
        #expect(manifest.command == ["app"])
        #expect(manifest.wakeCommand == nil && manifest.directory == nil && manifest.snapshot == nil)
        #expect(manifest.wakeLimit == 30 && manifest.logLimit == 1 << 20)
        #expect(manifest.backgroundPolicy == nil && manifest.fileLocks == .warn)
        #expect(manifest.fetchInterval == nil && manifest.taskIdentifiers == [] && manifest.locationReason == nil)
    }

    @Test(arguments: [
        ("X-Nightshift-BackgroundModes=transfer", [BackgroundMode.transfer]),
        ("X-Nightshift-BackgroundModes=transfer;", [.transfer]),
        ("X-Nightshift-BackgroundModes=transfer;transfer;", [.transfer]),
        ("X-Nightshift-BackgroundModes=", []),
    ])
    func `The parser reads lists of background modes`(line: String, modes: [BackgroundMode]) throws {
        #expect(try manifest(withLine: line).modes == Set(modes))
    }

    @Test(arguments: [
        (
            "X-Nightshift-BackgroundModes=transfer;fetsh;",
            "X-Nightshift-BackgroundModes: 'fetsh' is not a background mode; the modes are transfer, fetch, "
                + "remote-notification, location, processing"
        ),
        (
            "X-Nightshift-BackgroundModes=transfer,fetch",
            "X-Nightshift-BackgroundModes: 'transfer,fetch' is not a background mode; the modes are transfer, fetch, "
                + "remote-notification, location, processing"
        ),
        (
            "X-Nightshift-BackgroundMode=transfer",
            "X-Nightshift-BackgroundMode: unknown key; the keys are X-Nightshift-BackgroundModes, "
                + "X-Nightshift-Wake, X-Nightshift-WakeLimit, X-Nightshift-LogLimit, X-Nightshift-Snapshot, "
                + "X-Nightshift-BackgroundPolicy, X-Nightshift-FileLocks, X-Nightshift-FetchInterval, "
                + "X-Nightshift-TaskIdentifiers, X-Nightshift-LocationReason"
        ),
        (
            "X-NightShift-Wake=app",
            "X-NightShift-Wake: unknown key; the keys are X-Nightshift-BackgroundModes, "
                + "X-Nightshift-Wake, X-Nightshift-WakeLimit, X-Nightshift-LogLimit, X-Nightshift-Snapshot, "
                + "X-Nightshift-BackgroundPolicy, X-Nightshift-FileLocks, X-Nightshift-FetchInterval, "
                + "X-Nightshift-TaskIdentifiers, X-Nightshift-LocationReason"
        ),
        ("X-Nightshift-Wake[de]=app", "X-Nightshift-Wake[de]: this key cannot have a locale"),
        ("X-Nightshift-WakeLimit=0", "X-Nightshift-WakeLimit: '0' is not a number of seconds from 1 to 600"),
        ("X-Nightshift-WakeLimit=601", "X-Nightshift-WakeLimit: '601' is not a number of seconds from 1 to 600"),
        ("X-Nightshift-WakeLimit=0x10", "X-Nightshift-WakeLimit: '0x10' is not a number of seconds from 1 to 600"),
        ("X-Nightshift-WakeLimit=nan", "X-Nightshift-WakeLimit: 'nan' is not a number of seconds from 1 to 600"),
        ("X-Nightshift-WakeLimit=30 s", "X-Nightshift-WakeLimit: '30 s' is not a number of seconds from 1 to 600"),
        ("X-Nightshift-WakeLimit=", "X-Nightshift-WakeLimit: '' is not a number of seconds from 1 to 600"),
        (
            "X-Nightshift-LogLimit=4095",
            "X-Nightshift-LogLimit: '4095' is not a number of bytes from 4096 to 1073741824"
        ),
        (
            "X-Nightshift-LogLimit=1073741825",
            "X-Nightshift-LogLimit: '1073741825' is not a number of bytes from 4096 to 1073741824"
        ),
        (
            "X-Nightshift-LogLimit=99999999999999999999",
            "X-Nightshift-LogLimit: '99999999999999999999' is not a number of bytes from 4096 to 1073741824"
        ),
        (
            "X-Nightshift-BackgroundPolicy=forever",
            "X-Nightshift-BackgroundPolicy: 'forever' is not a policy; use contiguous or opportunistic, "
                + "optionally with :SECONDS (10 to 3600)"
        ),
        (
            "X-Nightshift-BackgroundPolicy=contiguous:9",
            "X-Nightshift-BackgroundPolicy: 'contiguous:9' is not a policy; use contiguous or opportunistic, "
                + "optionally with :SECONDS (10 to 3600)"
        ),
        ("X-Nightshift-FileLocks=ignore", "X-Nightshift-FileLocks: 'ignore' is not valid; use warn or terminate"),
        ("X-Nightshift-Snapshot=app.png", "X-Nightshift-Snapshot: 'app.png' is not an absolute path"),
        (
            "X-Nightshift-Wake=./wake.sh",
            "X-Nightshift-Wake: './wake.sh' is neither an absolute path nor a name to search in PATH"
        ),
        ("Path=somewhere", "Path: 'somewhere' is not an absolute path"),
        ("Path=/a\\b", "Path: '\\b' is not an escape sequence; write a backslash itself as '\\\\'"),
        ("Path=/a\\", "Path: a backslash cannot be the last character; write a backslash itself as '\\\\'"),
        ("Hidden=yes", "Hidden: 'yes' is neither 'true' nor 'false'"),
        ("Hidden=true", "Hidden: the entry is marked as deleted"),
        ("Name=Again", "Name: this key is repeated here"),
        ("Nonsense", "'Nonsense' is not a key with a value, a group or a comment"),
        ("=value", "'' cannot be the name of a key"),
        ("Na me=value", "'Na me' cannot be the name of a key"),
        ("Name[de=value", "'Name[de' cannot be the name of a key"),
        ("Icon=a\u{1}b", "the line has a control character"),
        ("[Desktop Entry]", "the group [Desktop Entry] is repeated here"),
        ("[Desktop", "'[Desktop' is not a group header"),
        ("[]", "'[]' is not a group header"),
    ])
    func `The error about a line names the line and the key`(line: String, message: String) {
        let error = #expect(throws: EntryError.self) { try manifest(withLine: line) }
        #expect(error?.description == "org.example.App.desktop, line 5: \(message)")
        #expect(error?.line == 5)
    }

    @Test(arguments: [
        ("", "the file has no group [Desktop Entry]"),
        ("# nothing\n", "the file has no group [Desktop Entry]"),
        ("Name=App\n[Desktop Entry]\n", "there are keys before the group [Desktop Entry]"),
        ("[Other]\n[Desktop Entry]\n", "the first group must be [Desktop Entry], not [Other]"),
        ("[Desktop Entry]\nName=App\nExec=app\n", "Type: is missing; the type must be 'Application'"),
        ("[Desktop Entry]\nType=Link\nName=App\n", "Type: the type must be 'Application', not 'Link'"),
        ("[Desktop Entry]\nType=Application\nExec=app\n", "Name: is missing"),
        ("[Desktop Entry]\nType=Application\nName=\nExec=app\n", "Name: is missing"),
        (
            "[Desktop Entry]\nType=Application\nName=App\nDBusActivatable=true\n",
            "Exec: is missing; the service needs the command that starts the app"
        ),
        (
            "[Desktop Entry]\nType=Application\nName=App\nExec=app\n[Desktop Action x]\nX-Nightshift-Wake=app\n",
            "X-Nightshift-Wake: this key belongs in the group [Desktop Entry], not in [Desktop Action x]"
        ),
    ])
    func `The error about an incomplete entry names the missing part`(text: String, message: String) {
        let error = #expect(throws: EntryError.self) { try manifest(text) }
        #expect(error?.description.hasSuffix(message) == true, "\(String(describing: error))")
    }

    @Test func `A key may occur in several groups and locales`() throws {
        let manifest = try manifest(
            """
            [Desktop Entry]
            Type=Application
            Name=App
            Name[de]=App
            Name[fr]=App
            Exec=app
            [Desktop Action a]
            Name=A
            Name[de]=A
            [Desktop Action b]
            Name=B
            Name[de]=B
            """)
        #expect(manifest.name == "App")
    }

    @Test func `The parser resolves escapes in strings`() throws {
        let manifest = try manifest("[Desktop Entry]\nType=Application\nName=a\\sb\\tc\\nd\\re\\\\f\nExec=app\n")
        #expect(manifest.name == "a b\tc\nd\re\\f")
    }

    @Test func `No input crashes the parser`() {
        var random = SystemRandomNumberGenerator()
        let pieces = [
            "[Desktop Entry]", "[", "]", "\n", "\r\n", "=", "Type=Application", "Name=", "Exec=", "\"", "\\", "%", "%%",
            "%f", ";", "é", "\u{0}", "X-Nightshift-", "Wake", "BackgroundModes=", " ", "#", "a",
        ]
        for _ in 0..<3_000 {
            let text = (0..<Int.random(in: 0..<20, using: &random)).map { _ in pieces.randomElement() ?? "" }.joined()
            _ = try? manifest(text)
            _ = try? manifest(withLine: text)
            _ = try? manifest(withLine: "X-Nightshift-Wake=" + text)
        }
    }
}
