public import Foundation
import Nightshift

/// The device that the app runs on, as far as Linux provides information about it.
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
        /// The device has no battery, the battery is not monitored, or the service cannot be reached.
        case unknown = 0
        case unplugged = 1
        case charging = 2
        case full = 3
    }

    /// The machine's host name.
    public var name: String { ProcessInfo.processInfo.hostName }

    /// The name of the system, such as `Debian GNU/Linux`.
    public var systemName: String { system.name }

    /// The version of the system, such as `12`. It is empty for a system without versions.
    public var systemVersion: String { system.version }

    public var model: String { "Linux" }

    public var localizedModel: String { model }

    /// A random identifier for all apps of a vendor. Apps of one vendor have ids that differ only in the last
    /// component. Unlike on iOS, the identifier remains when the last app is removed.
    ///
    /// The first reading waits up to 2 s for the service. It is nil if the service cannot be reached; read it again
    /// later, as on iOS.
    public var identifierForVendor: UUID? {
        if vendor == nil { vendor = application.vendorIdentifier }
        return vendor
    }

    private var vendor: UUID?

    /// Always true, because apps can continue in the background.
    public var isMultitaskingSupported: Bool { true }

    public var userInterfaceIdiom: UIUserInterfaceIdiom { .unspecified }

    /// Whether ``batteryLevel`` and ``batteryState`` can be read.
    public var isBatteryMonitoringEnabled = false

    /// The charge of the battery from 0 to 1. It is -1 if it is unknown: the battery is not monitored, the device has
    /// no battery, or the service cannot be reached.
    ///
    /// Each reading makes a request to the service, which takes some milliseconds. If the service does not respond,
    /// reading takes 2 s.
    public var batteryLevel: Float { battery?.level ?? -1 }

    /// The state of the battery. It is read in the same way as ``batteryLevel``.
    public var batteryState: BatteryState {
        guard let battery else { return .unknown }
        guard battery.isOnExternalPower else { return .unplugged }
        return battery.level >= 1 ? .full : .charging
    }

    private var battery: BatteryReading? { isBatteryMonitoringEnabled ? application.battery : nil }

    /// Never posted, because an app that waits in the background is not woken for its battery. `nightshift device`
    /// shows the battery, and transfers wait for power automatically.
    public nonisolated static let batteryLevelDidChangeNotification = Notification.Name(
        "UIDeviceBatteryLevelDidChangeNotification")
    /// Never posted, like ``batteryLevelDidChangeNotification``.
    public nonisolated static let batteryStateDidChangeNotification = Notification.Name(
        "UIDeviceBatteryStateDidChangeNotification")
}

/// The kind of user interface. None of Apple's kinds applies to a Linux desktop. The numbers are the same as in UIKit.
public enum UIUserInterfaceIdiom: Int, Sendable {
    case unspecified = -1
    case phone = 0
    case pad = 1
    case tv = 2
    case carPlay = 3
    case mac = 5
    case vision = 6
}
