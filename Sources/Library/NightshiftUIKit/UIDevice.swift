public import Foundation
import Nightshift

/// The device on which the app runs, as far as Linux provides information about the device.
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
        /// The state if the device has no battery, the battery is not monitored, or the service cannot be reached.
        case unknown = 0
        case unplugged = 1
        case charging = 2
        case full = 3
    }

    /// The host name of the machine.
    public var name: String { ProcessInfo.processInfo.hostName }

    /// The name of the system, such as `Debian GNU/Linux`.
    public var systemName: String { system.name }

    /// The version of the system, such as `12`. It is empty for a system without versions.
    public var systemVersion: String { system.version }

    public var model: String { "Linux" }

    public var localizedModel: String { model }

    /// A random identifier that all apps of a vendor share. Apps belong to one vendor if their ids differ only in the
    /// last component. Unlike on iOS, the identifier is kept when the vendor's last app is removed.
    ///
    /// The first reading waits up to 2 s for the service. The identifier is nil if the service cannot be reached. In
    /// that case read it again later, as on iOS.
    public var identifierForVendor: UUID? {
        if vendor == nil { vendor = application.vendorIdentifier }
        return vendor
    }

    private var vendor: UUID?

    /// Whether the device supports multitasking. This is always true, because apps can continue in the background.
    public var isMultitaskingSupported: Bool { true }

    public var userInterfaceIdiom: UIUserInterfaceIdiom { .unspecified }

    /// Whether ``batteryLevel`` and ``batteryState`` can be read.
    public var isBatteryMonitoringEnabled = false

    /// The charge of the battery from 0 to 1. It is -1 if the battery is not monitored, the device has no battery, or
    /// the service cannot be reached.
    ///
    /// Each reading sends a request to the service, which takes some milliseconds. If the service does not respond,
    /// reading takes 2 s.
    public var batteryLevel: Float { battery?.level ?? -1 }

    /// The state of the battery. Reading it takes as long as reading ``batteryLevel``.
    public var batteryState: BatteryState {
        guard let battery else { return .unknown }
        guard battery.isOnExternalPower else { return .unplugged }
        return battery.level >= 1 ? .full : .charging
    }

    private var battery: BatteryReading? { isBatteryMonitoringEnabled ? application.battery : nil }

    /// A notification that is never posted, because an app that waits in the background is not woken for its battery.
    /// `nightshift device` shows the battery, and transfers wait for power automatically.
    public nonisolated static let batteryLevelDidChangeNotification = Notification.Name(
        "UIDeviceBatteryLevelDidChangeNotification")
    /// A notification that is never posted, for the same reason as ``batteryLevelDidChangeNotification``.
    public nonisolated static let batteryStateDidChangeNotification = Notification.Name(
        "UIDeviceBatteryStateDidChangeNotification")
}

/// The kind of user interface. A Linux desktop is none of Apple's kinds. The raw values are the same as in UIKit.
public enum UIUserInterfaceIdiom: Int, Sendable {
    case unspecified = -1
    case phone = 0
    case pad = 1
    case tv = 2
    case carPlay = 3
    case mac = 5
    case vision = 6
}
