# kernlint in an image, built without a network from the wheels at hand; on Linux, with Python 3.12 (another one: --build-arg PYTHON=3.11):
#
#     python3.12 -m build --wheel
#     python3.12 -m pip download --dest dist/wheels dist/kernlint-*.whl
#     docker build --network none -t kernlint .
#     docker run --rm --network none -v "$PWD:/work:ro" kernlint check
#
# The Python that downloads is that of the image: wheels are for one version. Without a daemon: unshare -n buildah bud --isolation chroot --network host -t kernlint .
ARG PYTHON=3.12
FROM python:${PYTHON}-slim

COPY dist/ /tmp/dist/
# Of a wheel that was built twice the newest counts.
RUN pip install --no-cache-dir --no-index --find-links /tmp/dist --find-links /tmp/dist/wheels kernlint \
    && rm -rf /tmp/dist \
    && useradd --create-home --uid 1000 kernlint

USER kernlint
WORKDIR /work
# The working folder may be read-only.
ENV KERNLINT_CACHE_DIR=/home/kernlint/.cache/kernlint
ENTRYPOINT ["kernlint"]
CMD ["--help"]
