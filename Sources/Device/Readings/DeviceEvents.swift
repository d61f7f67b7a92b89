import CNightshift
import Glibc

/// Hears from the kernel of devices that come, go and change.
///
/// For one thread, which polls ``descriptor``.
final class DeviceEvents {
    let descriptor: Int32

    /// nil where the kernel does not let it listen.
    init?() {
        descriptor = nightshift_device_event_descriptor()
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// Takes what has been told; true when it was about a power supply, or may have been.
    func tellOfPower() -> Bool {
        var isNews = false
        // The kernel's events have at most 2048 bytes, and the device's path before them.
        withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 1) { buffer in
            while true {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count >= 0 {
                    if Self.isAboutPower(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { isNews = true }
                } else if errno == ENOBUFS {
                    // Some were lost.
                    isNews = true
                } else if errno != EINTR {
                    return
                }
            }
        }
        return isNews
    }

    /// An event is `change@/devices/...` and assignments, each with a zero behind it.
    static func isAboutPower(_ event: UnsafeRawBufferPointer) -> Bool {
        event.split(separator: 0).contains { $0.elementsEqual("SUBSYSTEM=power_supply".utf8) }
    }
}
