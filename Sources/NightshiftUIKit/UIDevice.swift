public import Foundation
import Nightshift

/// The device that the app runs on, as far as Linux tells.
@preconcurrency @MainActor open class UIDevice: NSObject {
    public static let current = UIDevice()

    private let application: Application
    private let system: SystemRelease

    private override convenience init() {
        self.init(application: .shared, system: SystemRelease(path: "/etc/os-release"))
    }

    package init(application: Application, system: SystemRelease) {
        self.application = application
        self.system = system
        super.init()
    }

    public enum BatteryState: Int, Sendable {
        /// The device has no battery, it is not monitored, or there is no service.
        case unknown = 0
        case unplugged = 1
        case charging = 2
        case full = 3
    }

    /// The name of the machine in its networks.
    public var name: String { ProcessInfo.processInfo.hostName }

    /// The name of the system, such as `Debian GNU/Linux`.
    public var systemName: String { system.name }

    /// The version of the system, such as `12`; empty for one without versions.
    public var systemVersion: String { system.version }

    public var model: String { "Linux" }

    public var localizedModel: String { model }

    /// One random identifier for all apps of a vendor: those whose ids differ in the last component alone. Unlike on iOS it stays when the last
    /// of them is removed.
    ///
    /// The first reading waits for the service, 2 s at most; nil without one. Read it again later then, as on iOS.
    public var identifierForVendor: UUID? {
        if vendor == nil { vendor = application.vendorIdentifier }
        return vendor
    }

    private var vendor: UUID?

    /// Always true: apps go on in the background.
    public var isMultitaskingSupported: Bool { true }

    public var userInterfaceIdiom: UIUserInterfaceIdiom { .unspecified }

    /// Whether ``batteryLevel`` and ``batteryState`` are read.
    public var isBatteryMonitoringEnabled = false

    /// 0...1; -1 where it is not known: the battery is not monitored, or the device has no battery, or no service.
    ///
    /// Each reading asks the service, which takes some milliseconds; one that does not answer is waited for 2 s.
    public var batteryLevel: Float { battery?.level ?? -1 }

    /// The state of the battery, which is read as ``batteryLevel`` is.
    public var batteryState: BatteryState {
        guard let battery else { return .unknown }
        guard battery.isOnExternalPower else { return .unplugged }
        return battery.level >= 1 ? .full : .charging
    }

    private var battery: BatteryReading? { isBatteryMonitoringEnabled ? application.battery : nil }

    /// Never posted: an app that waits in the background is not woken for its battery. `nightshift device` shows the battery, and transfers
    /// wait for power by themselves.
    public nonisolated static let batteryLevelDidChangeNotification = Notification.Name(
        "UIDeviceBatteryLevelDidChangeNotification")
    /// Never posted, as ``batteryLevelDidChangeNotification``.
    public nonisolated static let batteryStateDidChangeNotification = Notification.Name(
        "UIDeviceBatteryStateDidChangeNotification")
}

/// The kind of interface; a Linux desktop is none of Apple's. The numbers are UIKit's.
public enum UIUserInterfaceIdiom: Int, Sendable {
    case unspecified = -1
    case phone = 0
    case pad = 1
    case tv = 2
    case carPlay = 3
    case mac = 5
    case vision = 6
}
