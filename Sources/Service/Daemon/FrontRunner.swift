import Apps
import Device
import NightshiftAPI
import ServiceLifecycle

/// The service of the group that notifies the apps about the window with the focus.
struct FrontRunner: Service {
    /// The monitor of the desktop; nil if a trace replaces the device.
    let monitor: FocusMonitor?
    let apps: AppService

    func run() async {
        if let monitor {
            monitor.start()
            await cancelWhenGracefulShutdown {
                for await application in monitor.fronts { await apps.front(application) }
            }
            monitor.shutdown()
        }
        try? await gracefulShutdown()
    }

    /// Returns the status of the device, with the app in the foreground added.
    func added(to status: DeviceStatus) async -> DeviceStatus {
        var status = status
        status.front = FrontStatus(detail: "a trace replaces the device")
        if let report = monitor?.report {
            status.front = FrontStatus(source: report.source, detail: report.detail, app: await apps.frontApp)
        }
        return status
    }
}
