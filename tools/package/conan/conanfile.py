import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Fovea(ConanFile):
    name = "fovea"
    version = "@VERSION@"
    license = "MIT"
    url = homepage = "@REPOSITORY@"
    description = "@DESCRIPTION@"
    topics = "attention", "transformer", "machine-learning", "embedded"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "isas": ["ANY"]}
    default_options = {"shared": False, "fPIC": True, "isas": ""}
    implements = ["auto_shared_fpic"]
    exports_sources = (
        "CMakeLists.txt",
        "LICENSE",
        "CHANGELOG.md",
        "lib/*",
        "include/*",
        "platforms/*",
        "tools/*",
        "docs/*",
    )

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 17)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["FOVEA_SHARED_TOO"] = False
        if self.options.isas:
            toolchain.cache_variables["FOVEA_ISAS"] = str(self.options.isas).replace(",", ";")
        if os.environ.get("FOVEA_DEPS_DIR"):
            toolchain.cache_variables["FOVEA_DEPS_DIR"] = os.environ["FOVEA_DEPS_DIR"]
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["fovea"]
        self.cpp_info.set_property("cmake_file_name", "fovea")
        self.cpp_info.set_property("cmake_target_name", "fovea::fovea")
        self.cpp_info.set_property("pkg_config_name", "fovea")
