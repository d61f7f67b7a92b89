import Apps
import Device
import NightshiftAPI
import ServiceLifecycle

/// Tells the apps what the desktop shows in front, as one service of the group.
struct FrontRunner: Service {
    /// Nil where a trace is played in place of the device.
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

    /// A device's status together with what is in front.
    func added(to status: DeviceStatus) async -> DeviceStatus {
        var status = status
        status.front = FrontStatus(detail: "a trace is played instead of the device")
        if let report = monitor?.report {
            status.front = FrontStatus(source: report.source, detail: report.detail, app: await apps.frontApp)
        }
        return status
    }
}
