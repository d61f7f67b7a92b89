import Foundation
import NightshiftAPI
import NightshiftClient
import NightshiftUIKit
import TestSupport
import Testing

@testable import Nightshift

/// Tests of members of UIKit other than the app's life cycle.
@Suite(.timeLimit(.minutes(20))) @MainActor struct OpeningTests {
    /// A search path with programs that record their arguments.
    private struct Desktop {
        let directory: TemporaryDirectory
        var environment: [String: String] { ["PATH": directory.path] }

        init(_ programs: [String: String]) throws {
            directory = try TemporaryDirectory()
            for (name, script) in programs {
                let path = directory.path(name)
                let draft = path + ".draft"
                try "#!/bin/sh\n\(script)\n".write(toFile: draft, atomically: false, encoding: .utf8)
                // Another program writes the file. If this process wrote it, a test that starts a program at this time
                // would inherit the open file, and running the file would fail (ETXTBSY).
                let copying = try ChildProcess("install", arguments: ["-m", "755", draft, path])
                try #require(copying.blockUntilExit(within: .seconds(60)) == .code(0))
            }
        }
    }

    @Test func `Opening a URL runs xdg-open and reports its failure`() async throws {
        let desktop = try Desktop([
            "xdg-open": #"echo "$1" > "${0%/*}/opened"; [ "$1" = https://example.org/a ]"#
        ])
        let opener = URLOpener(environment: desktop.environment)
        #expect(try await opener.open("https://example.org/a", log: "/dev/null"))
        let opened = try String(contentsOfFile: desktop.directory.path("opened"), encoding: .utf8)
        #expect(opened == "https://example.org/a\n")
        #expect(try await opener.open("unknown:x", log: "/dev/null") == false)
        #expect(try await URLOpener(environment: [:]).open("https://example.org/", log: "/dev/null") == false)
    }

    @Test func `A scheme can be opened if xdg-mime names a program for it`() throws {
        let desktop = try Desktop([
            "xdg-mime": #"[ "$1 $2 $3" = "query default x-scheme-handler/https" ] && echo browser.desktop; true"#
        ])
        let opener = URLOpener(environment: desktop.environment)
        #expect(opener.hasProgram(forScheme: "https"))
        #expect(!opener.hasProgram(forScheme: "unknown"))
        #expect(!URLOpener(environment: [:]).hasProgram(forScheme: "https"))
        #expect(!opener.hasPage)
    }

    @Test func `Opening the settings opens the page of Nightshift`() async throws {
        let desktop = try Desktop(["nightshift": #"echo "$1" > "${0%/*}/opened""#])
        let opener = URLOpener(environment: desktop.environment)
        #expect(opener.hasPage)
        #expect(try await opener.openPage(log: "/dev/null"))
        #expect(try String(contentsOfFile: desktop.directory.path("opened"), encoding: .utf8) == "page\n")
        #expect(UIApplication.openSettingsURLString == "app-settings:")
    }

    @Test func `The app does not open a URL without a scheme or one for universal links only`() async throws {
        let application = UIApplication.shared
        let relative = try #require(URL(string: "relative"))
        #expect(await application.open(relative) == false)
        #expect(!application.canOpenURL(relative))
        let url = try #require(URL(string: "https://example.org/"))
        #expect(await application.open(url, options: [.universalLinksOnly: true]) == false)
        let isOpen = await withCheckedContinuation { continuation in
            application.open(url, options: [.universalLinksOnly: true]) { continuation.resume(returning: $0) }
        }
        #expect(!isOpen)
    }

    @Test(arguments: [(Double?.none, Float?.none), (0, 0), (37, 0.37), (100, 1), (250, 1)])
    func `The battery level is a fraction from 0 to 1`(percentage: Double?, level: Float?) {
        var conditions = DeviceConditions()
        conditions.batteryPercentage = percentage
        conditions.power = .battery
        #expect(BatteryReading(conditions)?.level == level)
        #expect(BatteryReading(conditions)?.isOnExternalPower == (level == nil ? nil : false))
    }

    @Test func `A device without a battery service has names and an unknown battery level`() throws {
        let process = AppProcess(home: "/no/such/home")
        let release = SystemRelease(text: "NAME=\"Debian GNU/Linux\"\nVERSION_ID='12'\nID=debian\nbroken\n")
        let device = UIDevice(application: Application(connection: process.connection), system: release)
        #expect(device.systemName == "Debian GNU/Linux" && device.systemVersion == "12")
        #expect(
            SystemRelease(text: "") == SystemRelease(path: "/no/such/file") && SystemRelease(text: "").name == "Linux")
        #expect(device.batteryLevel == -1 && device.batteryState == .unknown)
        device.isBatteryMonitoringEnabled = true
        #expect(device.batteryLevel == -1 && device.batteryState == .unknown)
        #expect(UIDevice.current === UIDevice.current && !UIDevice.current.name.isEmpty)
        #expect(UIDevice.current.userInterfaceIdiom != .pad)
    }

    @Test func `Apps of one vendor share the identifier that the first of their processes creates`() async throws {
        let home = try TemporaryDirectory()
        let paths = ServicePaths(environment: ["NIGHTSHIFT_HOME": home.path], homeDirectory: URL(filePath: home.path))
        func identifier(_ app: String) -> UUID? { VendorIdentifier(paths, of: AppID(rawValue: app)).value() }
        let apps = (0..<32).map { "org.example.App\($0)" }
        let first = await withTaskGroup(of: UUID?.self) { group in
            for app in apps { group.addTask { VendorIdentifier(paths, of: AppID(rawValue: app)).value() } }
            var found: Set<UUID?> = []
            for await identifier in group { found.insert(identifier) }
            return found
        }
        #expect(first.count == 1 && first != [nil])
        #expect(first == [identifier("org.example.App40")])
        let long = String(repeating: "long.", count: 100)
        let others = ["org.other.App", "photos", "..", "a/b", long + "App", long + "other.App"].map(identifier)
        #expect(Set(others + Array(first)).count == 7 && !others.contains(nil))
        let files = try FileManager.default.contentsOfDirectory(atPath: paths.state.appending(path: "vendors").path)
        #expect(files.count == 7, "\(files)")
        // The identifier is nil if its file cannot be written.
        let nowhere = ServicePaths(
            environment: ["NIGHTSHIFT_HOME": "/proc/none"], homeDirectory: URL(filePath: home.path))
        #expect(VendorIdentifier(nowhere, of: AppID(rawValue: "org.example.App1")).value() == nil)
        let process = AppProcess(home: "/no/such/home")
        let device = UIDevice(application: Application(connection: process.connection), system: SystemRelease(text: ""))
        #expect(device.identifierForVendor == nil)
    }

    @Test func `The delegate of Xcode's template has a window property`() {
        final class Delegate: UIResponder, UIApplicationDelegate {
            var window: UIWindow?

            required init() {
                window = UIWindow()
                super.init()
            }

            func applicationDidReceiveMemoryWarning(_ application: UIApplication) {}
        }
        let delegate: any UIApplicationDelegate = Delegate()
        #expect((delegate as? Delegate)?.window != nil)
        let name = UIApplication.didReceiveMemoryWarningNotification.rawValue
        #expect(name == "UIApplicationDidReceiveMemoryWarningNotification")
    }

    // MARK: - Notifications

    @Test func `The library fills in the arguments of a localised text, and refuses an attachment`() throws {
        let text = NSString.localizedUserNotificationString(
            forKey: "%1$@ sent you %2$@ photos.", arguments: ["Ada", 3])
        #expect(text == "Ada sent you 3 photos.")
        #expect(NSString.localizedUserNotificationString(forKey: "100 %", arguments: nil) == "100 %")
        #expect(throws: UNError.self) {
            try UNNotificationAttachment(identifier: "a", url: URL(filePath: "/tmp/a.png"), options: nil)
        }
        let content = UNMutableNotificationContent()
        content.attachments = []
        #expect(content.attachments.isEmpty && CLLocation(latitude: 0, longitude: 0).floor == nil)
    }

    @Test func `The library sends a calendar trigger as the seconds until its time`() throws {
        var components = DateComponents(timeZone: TimeZone(secondsFromGMT: 0), hour: 9, minute: 30)
        components.calendar = Calendar(identifier: .gregorian)
        let trigger = UNCalendarNotificationTrigger(dateMatching: components, repeats: false)
        // This time is 1970-01-01 09:00.
        let now = Date(timeIntervalSince1970: 9 * 3_600)
        let request = UNNotificationRequest(identifier: "a", content: UNNotificationContent(), trigger: trigger)
        #expect(try request.delay(from: now).interval == 1_800)
        #expect(try request.delay(from: now + 1_800).interval == 86_400)
        #expect(try #require(trigger.nextTriggerDate()) > Date())
    }

    @Test(arguments: [(2_001, false), (nil, true)] as [(Int?, Bool)])
    func `The library refuses a calendar trigger that repeats or matches no future time`(year: Int?, repeats: Bool)
        throws
    {
        let components = DateComponents(year: year, hour: 9)
        let trigger = UNCalendarNotificationTrigger(dateMatching: components, repeats: repeats)
        let request = UNNotificationRequest(identifier: "a", content: UNNotificationContent(), trigger: trigger)
        let error = #expect(throws: UNError.self) { try request.delay(from: Date()) }
        #expect(error?.code == .notificationInvalidNoDate)
    }

    @Test func `A text input action becomes a button, and critical alerts are not supported`() {
        let action = UNTextInputNotificationAction(
            identifier: "reply", title: "Reply", options: [], textInputButtonTitle: "Send", textInputPlaceholder: "Text"
        )
        let category = UNNotificationCategory(identifier: "message", actions: [action], intentIdentifiers: [])
        #expect(category.category.actions.map(\.title) == ["Reply"])
        #expect(action.textInputButtonTitle == "Send" && action.textInputPlaceholder == "Text")
        #expect(UNAuthorizationOptions.criticalAlert.rawValue == 16)
        #expect(UNNotificationSettings(nil).criticalAlertSetting == .notSupported)
    }
}
