import TestSupport

/// C functions that the loader uses instead of the C library's, in a service that is started under ``command``. They
/// are available while this object exists.
final class PreloadedLibrary: Sendable {
    /// The command prefix for the service's program.
    let command: [String]
    private let directory: TemporaryDirectory

    static let isPossible = Programs.has("cc") || Programs.has("clang")

    init(_ source: String) async throws {
        directory = try TemporaryDirectory(in: "/tmp")
        let (file, library) = (try directory.write(source, to: "library.c"), directory.path("library.so"))
        let built = try await ChildProcess.run(
            Programs.has("cc") ? "cc" : "clang", ["-shared", "-fPIC", "-O1", "-o", library, file, "-ldl"],
            within: .seconds(60))
        guard built.code == 0 else { throw NotPossibleHere(description: built.errors) }
        command = ["env", "LD_PRELOAD=\(library)"]
    }

    /// Returns a library that gives every connecting socket small buffers, so that a peer's count of sent bytes is
    /// close to the bytes that were read.
    static func smallSockets() async throws -> PreloadedLibrary {
        try await PreloadedLibrary(
            """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <sys/socket.h>
            int connect(int socket, const struct sockaddr *address, socklen_t length) {
                int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
                int size = 65536;
                if (address->sa_family == AF_INET || address->sa_family == AF_INET6)
                    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
                return real(socket, address, length);
            }
            """)
    }
}
