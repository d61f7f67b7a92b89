import Apps
import Device
import NightshiftAPI
import ServiceLifecycle

/// Notifies the apps about the window with the focus, as a service of the group.
struct FrontRunner: Service {
    /// The monitor; nil if a trace is played instead of the device.
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

    /// The status of the device with the app in the foreground.
    func added(to status: DeviceStatus) async -> DeviceStatus {
        var status = status
        status.front = FrontStatus(detail: "a trace is played instead of the device")
        if let report = monitor?.report {
            status.front = FrontStatus(source: report.source, detail: report.detail, app: await apps.frontApp)
        }
        return status
    }
}
